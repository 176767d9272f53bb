package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/report"
)

// The table stands between these lines of docs/guarantees.md.
const (
	tableBegin = "<!-- begin of the table; make guarantees writes it -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// Table returns the table of guarantees as the scenarios declare it: a row for each fault that has a scenario, what is
// promised under it, and the scenario that tries it. [Show] returns what runs make of that.
func Table() (string, error) { return table(Scenario.declares) }

// declares is the cell of a column as it must be.
func (s Scenario) declares(c Column) report.Cell {
	p := s.Promises.of(c)
	return report.Cell{Promise: p.Promise, Given: p.Given, Scenario: s.Name}
}

// Shown is the table of guarantees as runs have shown it.
type Shown struct {
	Table string
	// Changed are the cells that are not as declared, a line each.
	Changed []string
	// Untried are the scenarios that no real masters have shown.
	Untried []string
}

// Show makes the table of the outcomes of runs. What is declared to be kept, or kept given an assumption, is so where
// no run saw it broken; what is declared to be seen broken was seen broken in each. No run says anything of the
// assumption, or of what is neither promised nor to be seen broken.
func Show(all []Outcome) (Shown, error) {
	var out Shown
	text, err := table(func(s Scenario, c Column) report.Cell {
		declared := s.declares(c)
		shown := report.Cell{Promise: report.Untried, Scenario: s.Name}
		for _, o := range all {
			if o.NoVerdict != "" {
				o.Verdicts = nil
			}
			if o.Scenario.Name != s.Name || len(o.Verdicts) == 0 && len(o.Before) == 0 {
				continue
			}
			if cell := o.shows(c); cell != declared {
				out.Changed = append(out.Changed, fmt.Sprintf("%s under %s: declared to be %q, and shown to be %q by %s on %s",
					c, s.Fault, declared.Promise, cell.Promise, s.Name, o.Backend))
				return cell
			}
			if o.Backend != Simulation && len(o.Verdicts) > 0 { // virtual time alone shows too little
				shown = declared
			}
		}
		if shown.Promise == report.Untried && c == Exclusion { // of all cells of the row
			out.Untried = append(out.Untried, s.Name)
		}
		return shown
	})
	out.Table = text
	return out, err
}

// shows is the cell of a column as the run makes it.
func (o Outcome) shows(c Column) report.Cell {
	cell := o.Scenario.declares(c)
	switch by := o.foundIn(c); {
	case o.Scenario.promises(string(c)) && len(by) > 0:
		return report.Cell{Promise: report.NotPromised, Scenario: cell.Scenario}
	case cell.Promise == report.NotPromised && len(o.Verdicts) > 0 && !slices.Contains(by, string(c)):
		return report.Cell{Promise: report.Kept, Scenario: cell.Scenario}
	}
	return cell
}

// foundIn are the checkers of a column that found something, in attempts whose harness broke, too.
func (o Outcome) foundIn(c Column) (checkers []string) {
	for _, v := range o.Verdicts {
		if columnOf(v.Checker) == c && len(v.Findings) > 0 {
			checkers = append(checkers, v.Checker)
		}
	}
	for _, line := range o.Before {
		if checker, _, _ := strings.Cut(line, ":"); columnOf(checker) == c {
			checkers = append(checkers, checker)
		}
	}
	return checkers
}

func table(cell func(Scenario, Column) report.Cell) (string, error) {
	var rows []report.Row
	for _, s := range All() {
		if s.Fault == "" {
			continue
		}
		row := report.Row{Fault: s.Fault + ": " + s.About}
		for _, c := range Columns() {
			row.Cells = append(row.Cells, cell(s, c))
		}
		rows = append(rows, row)
	}
	var columns []string
	for _, c := range Columns() {
		columns = append(columns, string(c))
	}
	var b bytes.Buffer
	if err := report.Guarantees(&b, columns, rows); err != nil {
		return "", err
	}
	return b.String(), nil
}

// CheckTable returns nil if the table in the file is the one that the scenarios make.
func CheckTable(file string) error {
	_, old, _, err := split(file)
	if err != nil {
		return err
	}
	table, err := Table()
	if err != nil {
		return err
	}
	if old != table {
		return fmt.Errorf("%s does not say what the scenarios declare: make guarantees, and look what has changed", file)
	}
	return nil
}

// WriteTable puts a table into the file.
func WriteTable(file, table string) error {
	before, _, after, err := split(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(before+table+after), 0o644)
}

// split returns what is before, in and after the table.
func split(file string) (before, table, after string, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", "", "", err
	}
	before, rest, ok := strings.Cut(string(content), tableBegin)
	table, after, ended := strings.Cut(rest, tableEnd)
	if !ok || !ended {
		return "", "", "", fmt.Errorf("%s has no place for the table: it wants the lines %q and %q",
			file, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	return before + tableBegin, table, tableEnd + after, nil
}
