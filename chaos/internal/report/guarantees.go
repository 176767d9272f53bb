package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Promise says to what extent a promise holds under a fault.
type Promise string

const (
	// Kept means that it holds unconditionally.
	Kept Promise = "kept"
	// KeptGiven means that it holds under an assumption, which the cell names.
	KeptGiven Promise = "kept, given "
	// Open means that it may or may not hold.
	Open Promise = "not promised"
	// NotPromised means that it was seen to break.
	NotPromised Promise = "not promised (seen broken)"
	// Untried means that no scenario tests it.
	Untried Promise = "not tried"
)

var allPromises = []Promise{Kept, KeptGiven, Open, NotPromised, Untried}

// Cell is one promise under one fault.
type Cell struct {
	Promise Promise
	// Given is the assumption. Only a KeptGiven cell has one.
	Given string
	// Scenario is the name of the scenario that tests it.
	Scenario string
}

// Row has the promises under one fault.
type Row struct {
	Fault string
	// Cells has the cell of each column of the table.
	Cells []Cell
}

// Guarantees writes the table as Markdown. If a cell has no scenario that tests it, or lacks its assumption, it returns
// an error and writes nothing.
func Guarantees(w io.Writer, columns []string, table []Row) error {
	var b strings.Builder
	b.WriteString("| fault | " + strings.Join(columns, " | ") + " |\n|---|" + strings.Repeat("---|", len(columns)) + "\n")
	for _, r := range table {
		if len(r.Cells) != len(columns) {
			return fmt.Errorf("guarantees: %d cells under %q: there are %d columns", len(r.Cells), r.Fault, len(columns))
		}
		b.WriteString("| " + escape(r.Fault))
		for i, c := range r.Cells {
			text, err := c.text()
			if err != nil {
				return fmt.Errorf("guarantees: %s under %q: %w", columns[i], r.Fault, err)
			}
			b.WriteString(" | " + text)
		}
		b.WriteString(" |\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c Cell) text() (string, error) {
	switch {
	case c.Scenario == "":
		return "", fmt.Errorf("no scenario shows %q: name one", c.Promise)
	case c.Promise == KeptGiven && c.Given == "":
		return "", fmt.Errorf("%q what? name the assumption", strings.TrimSpace(string(c.Promise)))
	case c.Promise != KeptGiven && c.Given != "":
		return "", fmt.Errorf("%q has the assumption %q, which only %q can have",
			c.Promise, c.Given, strings.TrimSpace(string(KeptGiven)))
	case !slices.Contains(allPromises, c.Promise):
		return "", fmt.Errorf("%q is no promise: it is one of %q", c.Promise, allPromises)
	}
	return escape(string(c.Promise)+c.Given) + " · `" + escape(c.Scenario) + "`", nil
}

func escape(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "`", "'").Replace(s)
}
