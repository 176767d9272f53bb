package integration_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisbox"
)

// use does with a lock what one does: it takes it, extends it, keeps another from having it, and gives it back.
func use(t *testing.T, ours, others *redlock.Locker, name string) {
	t.Helper()
	ctx := within(t, patience)
	l := lock(t, ours, name, redlock.WithoutKeepalive())
	require.NoError(t, l.Extend(ctx))
	_, err := others.TryLock(ctx, name)
	require.ErrorIs(t, err, redlock.ErrHeld)
	unlock(t, l)
}

const (
	outlast    = 3 * nodeTimeout // how long a fault lasts: every request to a silent master meets its deadline
	outlasting = 30              // how many locks are acquired in that time
)

// What a frozen master, or one behind a black hole, does not answer delays no call, and what it was sent is undone
// when it answers again. All TTLs are longer than the test, so no key goes away by itself.
//
// All is at the published ports, through Docker's proxy. A client takes back what lies unacknowledged on a connection
// when it abandons it; the proxy does not. It goes on repeating it, at doubling intervals: the master may get it for as
// long again as the black hole lasted, after everything else, and the lock must be taken back from it once more.
func TestTwoOfFiveSilentOrGone(t *testing.T) {
	for name, fault := range map[string]struct {
		begin func(*redisbox.Master, context.Context) error
		needs func(testing.TB)
		lasts time.Duration
		late  bool // what was sent meanwhile arrives as late as the fault lasted
	}{
		"frozen":  {begin: (*redisbox.Master).Freeze, lasts: outlast},
		"cut off": {begin: (*redisbox.Master).Disconnect, lasts: outlast},
		"black-holed": {
			begin: (*redisbox.Master).BlackHole, needs: redisbox.NeedBlackHole, lasts: 8 * nodeTimeout, late: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if fault.needs != nil {
				fault.needs(t)
			}
			masters := masters(t)
			slow := redlock.WithNodeTimeout(2 * nodeTimeout) // as the three that are left may be on a busy machine
			ours, others := openLong(t, masters, slow), openLong(t, masters, slow)
			use(t, ours, others, "during")
			before := lock(t, ours, "before")
			for _, m := range masters {
				eventually(t, settled, func() error {
					if got, err := m.Do(t.Context(), "GET", "before"); err != nil || got != before.Token() {
						return fmt.Errorf("%s has %v (%v)", m, got, err) //nolint:errorlint // it may be nil
					}
					return nil
				})
				ask(t, m, "CONFIG", "RESETSTAT")
			}

			silent := masters[3:]
			all(t, fault.begin, silent...)
			begin := time.Now()
			unlock(t, before)
			ghost := lock(t, others, "ghost") // goes out to the silent as well: nothing else is on the wire
			for i := range outlasting {
				use(t, ours, others, fmt.Sprintf("during:%d", i))
				time.Sleep(fault.lasts / outlasting)
			}
			unlock(t, ghost)
			requireEmpty(t, settled, masters[:3]...)

			all(t, (*redisbox.Master).Restore, silent...)
			if !fault.late {
				requireNoGhosts(t, settled, masters...)
				return
			}
			requireNoGhosts(t, time.Since(begin)+2*settled, masters...)
			for _, m := range silent {
				assert.Contains(t, ask(t, m, "INFO", "commandstats"), "cmdstat_set:",
					"the control: a SET of before did arrive, so there was a ghost to lay")
			}
		})
	}
}
