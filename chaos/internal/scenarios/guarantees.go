package scenarios

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
)

// The table stands between these lines of docs/guarantees.md.
const (
	tableBegin = "<!-- begin of the table; make guarantees writes it -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// Table returns the table of guarantees as the scenarios declare it: the scenarios of faults, and what is not kept
// under them. [Show] returns what runs make of that.
func Table() string { return table(func(s Scenario, c Column) Promise { return s.Promises.of(c) }) }

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
func Show(all []Outcome) Shown {
	var out Shown
	out.Table = table(func(s Scenario, c Column) Promise {
		declared, shown := s.Promises.of(c), untried
		for _, o := range all {
			if o.NoVerdict != "" {
				o.Verdicts = nil
			}
			if o.Scenario.Name != s.Name || len(o.Verdicts) == 0 && len(o.Despite) == 0 {
				continue
			}
			if p := o.shows(c); p != declared {
				out.Changed = append(out.Changed, fmt.Sprintf("%s under %s: declared to be %q, and shown to be %q by %s on %s",
					c, s.Fault, declared, p, s.Name, o.Backend))
				return p
			}
			if o.Backend != Simulation && len(o.Verdicts) > 0 { // virtual time alone shows too little
				shown = declared
			}
		}
		if shown == untried && c == Exclusion { // of all cells of the row
			out.Untried = append(out.Untried, s.Name)
		}
		return shown
	})
	return out
}

// shows is the promise of a column as the run makes it.
func (o Outcome) shows(c Column) Promise {
	declared := o.Scenario.Promises.of(c)
	switch by := o.foundIn(c); {
	case o.Scenario.promises(string(c)) && len(by) > 0:
		return Broken
	case declared == Broken && len(o.Verdicts) > 0 && !slices.Contains(by, string(c)):
		return Kept
	}
	return declared
}

// foundIn are the checkers of a column that found something, in attempts whose harness broke, too.
func (o Outcome) foundIn(c Column) (checkers []string) {
	for _, v := range o.Verdicts {
		if columnOf(v.Checker) == c && len(v.Findings) > 0 {
			checkers = append(checkers, v.Checker)
		}
	}
	for _, line := range o.Despite {
		if checker, _, _ := strings.Cut(line, ":"); columnOf(checker) == c {
			checkers = append(checkers, checker)
		}
	}
	return checkers
}

// table has a row for each set of faults under which the same is not simply kept. Promises that are alike share a
// sentence.
func table(cell func(Scenario, Column) Promise) string {
	var rows []string
	faults := map[string][]string{}
	for _, s := range All() {
		if s.Fault == "" {
			continue
		}
		var said []Promise
		columns := map[Promise][]string{}
		for _, c := range Columns() {
			p := cell(s, c)
			if p == Kept {
				continue
			}
			if columns[p] == nil {
				said = append(said, p)
			}
			columns[p] = append(columns[p], string(c))
		}
		sentences := []string{}
		for _, p := range said {
			sentences = append(sentences, strings.Join(columns[p], ", ")+": "+string(p))
		}
		row := cmp.Or(strings.Join(sentences, "; "), "all kept")
		if faults[row] == nil {
			rows = append(rows, row)
		}
		faults[row] = append(faults[row], "`"+s.Name+"`")
	}
	var b strings.Builder
	b.WriteString("| faults | what is not kept, or on a condition |\n|---|---|\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(faults[row], ", "), row)
	}
	return b.String()
}

// CheckTable returns nil if the table in the file is the one that the scenarios make.
func CheckTable(file string) error {
	_, old, _, err := split(file)
	if err != nil {
		return err
	}
	if old != Table() {
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
