package check

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Only the checker of a control finds something in its history, and none in the sound one.
func TestOneCheckerFindsAControl(t *testing.T) {
	t.Parallel()
	checkers := []string{ByCoverage, ByWellFormed, ByClients, ByHarness}
	for _, of := range checkers {
		v := judgeControl(of, sound())
		assert.True(t, v.Held(), "%s: %v", of, v.Findings)
		for _, c := range Controls() {
			v := c
			v.Checker = of
			assert.Equal(t, of != c.Checker, v.Catch().Held(), "%s on %q: %v", of, c.Name, v.Catch().Findings)
		}
	}
}
