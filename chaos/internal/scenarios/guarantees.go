package scenarios

import (
	"cmp"
	"fmt"
	"strings"
)

// Table returns the table of guarantees, which the runs of the scenarios must show. It has a row for each set of faults
// under which the same is not simply kept. Promises that are alike share a sentence.
func Table() string {
	var rows []string
	faults := map[string][]string{}
	for _, s := range All() {
		if s.Fault == "" {
			continue
		}
		var said []Promise
		columns := map[Promise][]string{}
		for _, c := range Columns() {
			p := s.Promises.of(c)
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
