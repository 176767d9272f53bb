package scenarios_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

var update = flag.Bool("update", false, "write the table into docs/guarantees.md")

// The table in the documentation is the one that the scenarios declare. Their runs fail if they show another one.
func TestTheTableOfGuaranteesIsUpToDate(t *testing.T) {
	t.Parallel()
	const file, end = "../../../docs/guarantees.md", "<!-- end of the table -->\n"
	const begin = "<!-- begin of the table; make guarantees writes it -->\n"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), begin)
	old, after, ended := strings.Cut(rest, end)
	require.True(t, ok && ended, "%s has no place for the table", file)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+begin+table()+end+after), 0o644))
		return
	}
	assert.Equal(t, table(), old, "make guarantees, and look what has changed")
}

// table returns the table of guarantees, which the runs of the scenarios must show. It has a row for each set of faults
// under which the same is not simply kept. Promises that are alike share a sentence.
func table() string {
	var rows []string
	faults := map[string][]string{}
	for _, s := range scenarios.All() {
		if s.Fault == "" {
			continue
		}
		var said []scenarios.Promise
		columns := map[scenarios.Promise][]string{}
		for _, c := range scenarios.Columns() {
			p := cmp.Or(s.Promises[c], scenarios.Kept)
			if p == scenarios.Kept {
				continue
			}
			if columns[p] == nil {
				said = append(said, p)
			}
			columns[p] = append(columns[p], c)
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
