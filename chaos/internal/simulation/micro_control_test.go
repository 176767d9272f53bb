package simulation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/internal/seam"
)

// TestMicroScenariosCatchWhatTheyAreAbout rewrites a script of our own lock and checks that the micro-scenario for that
// rule finds the mistake.
func TestMicroScenariosCatchWhatTheyAreAbout(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		microScenario string
		scripts       string // prefixes of their names, separated by spaces
		old, new      string
		crime         string
	}{
		"releases without messages": {
			"two names in turn", "mutex_release entry_release", "redis.pcall('PUBLISH'", "(function() return 0 end)('PUBLISH'",
			"of its release",
		},
		"permits that are not released": {
			"news of a release", "permit_release", "redis.call('ZREM', KEYS[1], ARGV[1])", "do return 1 end",
			"did not get a lock within 300ms",
		},
		"mutexes that are free when a locker closes": {
			"longest hold", "mutex_keep", "'SET', KEYS[i], ARGV[3], 'PX', ARGV[2]", "'DEL', KEYS[i]",
			"which the holder that closed its locker had to keep",
		},
		"writers' names that are free when a locker closes": {
			"longest hold", "entry_keep", "put(KEYS[1], ARGV[2], now, ARGV[1])", "endWithLast(KEYS[1])",
			"which the holder that closed its locker had to keep",
		},
		"writers without intents": {
			"a dead writer's intent", "entry_probe", "if ARGV[3] ~= '' and", "if false and", "though a writer waits",
		},
		"intents that outlive their writer": {
			"a dead writer's intent", "entry_probe", "now, ARGV[4])", "now, 10 * ARGV[4])", "kept out for",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rewritten := make(map[string]bool)
			script := func(name, text string) string {
				for _, s := range strings.Fields(c.scripts) {
					if strings.HasPrefix(name, s) && strings.Contains(text, c.old) {
						rewritten[s] = true
						return strings.Replace(text, c.old, c.new, 1)
					}
				}
				return text
			}
			caught(t, simulation.Product(broken.Hooks(seam.Hooks{Script: script})), c.microScenario, 15, c.crime)
			require.Len(t, rewritten, len(strings.Fields(c.scripts)), "the script is another than it was")
		})
	}
}
