package controls

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/testmain"
	"github.com/redlock-go/redlock/internal/redisproc"
)

func TestMain(m *testing.M) { testmain.Run(m) }

func options(t *testing.T, command func() *exec.Cmd) scenarios.Options {
	t.Helper()
	redisproc.Need(t)
	return scenarios.Options{Dir: t.TempDir(), Seed: 1, Say: t.Logf, Command: command}
}

func TestOurOwnLockWithoutARuleIsCaught(t *testing.T) {
	t.Parallel()
	o, set := options(t, testmain.Client), Find("*")[0]
	tried := 0
	require.NoError(t, set.Try(t.Context(), o, func(r Result) {
		tried++
		assert.True(t, r.Caught, "%s by %s: %s", r.Lock, r.Checker, r.Text)
	}))
	assert.Len(t, set.Controls, tried)
}

func TestAControlThatDoesNotRunIsAnError(t *testing.T) {
	t.Parallel()
	o := options(t, func() *exec.Cmd { return exec.Command("false") })
	err := Find("nothing closed")[0].Try(t.Context(), o, func(r Result) { t.Errorf("result: %v", r) })
	require.ErrorContains(t, err, "the control nothing closed did not run properly")
}

// A control is caught only by what it is to show.
func TestCaughtMeansThatTheFindingIsTheOne(t *testing.T) {
	t.Parallel()
	bad := check.Verdict{Findings: []check.Finding{{Text: "two at once"}}}
	assert.True(t, Control{Says: "two"}.of(bad, "").Caught)
	second := check.Verdict{Findings: []check.Finding{{Text: "none"}, {Text: "two at once"}}}
	assert.Equal(t, "two at once", Control{Says: "two"}.of(second, "").Text)
	other := Control{Says: "three"}.of(bad, "")
	assert.False(t, other.Caught)
	assert.Equal(t, "something else was found: two at once", other.Text)
	assert.Equal(t, "nothing found: 9 holds", Control{}.of(check.Verdict{Looked: "9 holds"}, "").Text)
}
