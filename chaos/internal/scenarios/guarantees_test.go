package scenarios_test

import (
	"flag"
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
		require.NoError(t, os.WriteFile(file, []byte(before+begin+scenarios.Table()+end+after), 0o644))
		return
	}
	assert.Equal(t, scenarios.Table(), old, "make guarantees, and look what has changed")
}
