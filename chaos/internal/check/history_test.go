package check_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// rows are histories in the notation of package handmade. says has what the findings about the history say, in their
// order, with " | " between them. It is "" if there is nothing to be found.
type rows map[string]struct{ history, says string }

type judge = func([]history.Event) check.Verdict

// judgedBy compares the findings of some checkers about each history with what the row says. A finding about a promise
// of the lock must have events that prove it. Liveness cannot: what did not happen has none.
func (all rows) judgedBy(t *testing.T, judges ...judge) {
	t.Helper()
	for name, row := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var said []string
			for _, judge := range judges {
				v := judge(handmade.History(row.history))
				for _, f := range v.Findings {
					said = append(said, f.Text)
					assert.True(t, len(f.Events) > 0 || !proves(v.Checker), "no events prove it: %s", f.Text)
				}
			}
			if row.says == "" {
				assert.Empty(t, said)
				return
			}
			want := strings.Split(row.says, " | ")
			require.Len(t, said, len(want))
			for i := range want {
				assert.Contains(t, said[i], want[i])
			}
		})
	}
}

func proves(checker string) bool {
	for _, c := range check.Catalog() {
		if c.Name == checker {
			return c.Of != "" && c.Name != check.ByLiveness
		}
	}
	return false
}

// on returns a checker that needs more than the history.
func on(terms check.Terms, judge func([]history.Event, check.Terms) check.Verdict) judge {
	return func(events []history.Event) check.Verdict { return judge(events, terms) }
}

func TestEveryVerdictHasTheNameOfItsChecker(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	for _, c := range check.Catalog() {
		assert.Equal(t, c.Name, c.Judge(nil, check.Terms{}).Checker)
		assert.Contains(t, string(readme), "\n| "+c.Name+" | ", "chaos/README.md lists every checker")
	}
}
