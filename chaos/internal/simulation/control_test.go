package simulation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
	"github.com/redlock-go/redlock/internal/simnet"
)

// TestBrokenKindsAreCaught breaks the rule of each kind of lock and checks that the simulation notices.
func TestBrokenKindsAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		instead func(*locker.Request)
		profile string
		crime   string
	}{
		"writer that lets readers in": {func(w *locker.Request) {
			if w.Mode == kinds.Writer {
				w.Mode = kinds.Reader
			}
		}, "calm", "VIOLATION (exclusion)"},
		"any owner is the same": {func(w *locker.Request) {
			if w.Owner != "" {
				w.Owner = "everybody"
			}
		}, "calm", "VIOLATION (exclusion)"},
		"owner is a stranger to itself": {func(w *locker.Request) {
			if w.Mode == kinds.Reentrant {
				w.Mode = kinds.Mutex
			}
		}, "dead holders", "was refused to"},
		"no fencing": {func(w *locker.Request) { w.Fencing = false }, "calm", "the fencing token is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, cl simulation.Client) (simulation.Locker, error) {
				inner, err := simulation.Product()(w, h, s, cl)
				return changer{inner, c.instead}, err
			}
			caught(t, open, c.profile, 50, c.crime)
		})
	}
}

// TestBrokenLocksAreCaught checks that each remaining check finds a lock that breaks its promise.
func TestBrokenLocksAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lock    func(simulation.Lock) simulation.Lock
		profile string
		crime   string
	}{
		"unlock does nothing": {
			func(l simulation.Lock) simulation.Lock { return forgetful{l} }, "calm", "outlives its Unlock",
		},
		"loss notified 100 ms late": {
			func(l simulation.Lock) simulation.Lock { return late(l) }, "rolling restarts", "was notified of the loss only at",
		},
		"keys are left": {
			func(l simulation.Lock) simulation.Lock { return &untidy{Lock: l} }, "calm", "left on master",
		},
		"neither lock nor error": {
			func(simulation.Lock) simulation.Lock { return nil }, "calm", "neither lock nor error",
		},
		"unlock takes for ever, almost": {func(l simulation.Lock) simulation.Lock { return slow{l} }, "calm", "Unlock took"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, cl simulation.Client) (simulation.Locker, error) {
				inner, err := simulation.Product()(w, h, s, cl)
				return wrapper{inner, c.lock}, err
			}
			caught(t, open, c.profile, 20, c.crime)
		})
	}
}

// caught runs schedules of one profile, or of all, until a verdict contains crime.
func caught(t *testing.T, open simulation.Open, profile string, within int, crime string) {
	t.Helper()
	ran := 0
	for seed := uint64(1); ran < within; seed++ {
		s := simulation.Draw(seed)
		if profile != "" && s.Profile != profile {
			continue
		}
		ran++
		if r := run(t, s, open); strings.Contains(r.Verdict(), crime) {
			t.Logf("caught by schedule %d, seed %d:\n%s", ran, seed, r.Report())
			return
		}
	}
	t.Errorf("%d schedules went by without %q: the simulation would not notice", within, crime)
}

// TestOverlapsWhereExclusionIsNotPromised checks that two holders overlap under faults for which exclusion is not
// promised, and that all other promises still hold.
func TestOverlapsWhereExclusionIsNotPromised(t *testing.T) {
	t.Parallel()
	for name, profile := range map[string]string{
		"the masters' clocks jump": "clock jumps", "all masters forget": "all forgotten",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overlaps := 0
			for n, s := range (simulation.Control{Profile: profile, Within: 30}).Schedules() {
				r := simulation.InBubble(s, simulation.Product())
				require.True(t, r.OK(), r.Report())
				if overlaps += len(r.Overlaps); overlaps > 0 {
					t.Logf("two holders in schedule %d, seed %d: %v", n, s.Seed, r.Overlaps[0])
					return
				}
			}
			t.Error("30 schedules went by in which all locks excluded each other: the fault does not bite")
		})
	}
}
