package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/redlock-go/redlock/chaos/report"
)

// The table stands between these lines of docs/guarantees.md.
const (
	tableBegin = "<!-- begin of the table; make guarantees writes it -->\n"
	tableEnd   = "<!-- end of the table -->\n"
)

// Table returns the table of guarantees: a row for each fault that has a scenario, what is promised under it, and the
// scenario that tries it. The cells are what the scenarios declare, not what was counted in runs. A run holds them to it: it
// fails if what is kept is seen broken, or what is to be seen broken is not (see [Outcome.Wrong]). Of an assumption, and of
// what is neither promised nor to be seen broken, no run says anything.
func Table() (string, error) {
	var rows []report.Row
	for _, s := range All() {
		if s.Fault == "" {
			continue
		}
		cell := func(c Column) report.Cell {
			p := s.Promises.of(c)
			return report.Cell{Promise: p.Promise, Given: p.Given, Scenario: s.Name}
		}
		rows = append(rows, report.Row{
			Fault: s.Fault + ": " + s.About, Exclusion: cell(Exclusion), Fencing: cell(Fencing), ToldInTime: cell(Told),
			Liveness: cell(Liveness),
		})
	}
	var b bytes.Buffer
	if err := report.Guarantees(&b, rows); err != nil {
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
		return fmt.Errorf("%s does not say what the scenarios do: make guarantees, and look what has changed", file)
	}
	return nil
}

// WriteTable puts the table into the file.
func WriteTable(file string) error {
	before, _, after, err := split(file)
	if err != nil {
		return err
	}
	table, err := Table()
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
		return "", "", "", fmt.Errorf("%s has no place for the table: it wants the lines %q and %q", file, strings.TrimSpace(tableBegin), strings.TrimSpace(tableEnd))
	}
	return before + tableBegin, table, tableEnd + after, nil
}
