package simulation_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/simulation"
	"github.com/redlock-go/redlock/internal/sabotage"
	"github.com/redlock-go/redlock/internal/simnet"
)

// TestBrokenRulesAreCaught: the same simulation, on our own lock with a rule taken out, finds two holders.
func TestBrokenRulesAreCaught(t *testing.T) {
	t.Parallel()
	minority, ok := sabotage.Option(sabotage.Rules{MajorityLess: 1}).(redlock.Option)
	require.True(t, ok)
	for name, c := range map[string]struct {
		option redlock.Option
		within int
	}{
		"restart guard off": {redlock.WithoutRestartGuard(), 200},
		"majority less one": {minority, 50},
		"no drift budget":   {redlock.WithDrift(0, 0), 300},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			caught(t, simulation.Product(c.option), c.within, "VIOLATION: two holders")
		})
	}
}

// TestBrokenLocksAreCaught: every judge of the simulation has a lock that it finds guilty.
func TestBrokenLocksAreCaught(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lock  func(simulation.Lock) simulation.Lock
		crime string
	}{
		"unlock does nothing":           {func(l simulation.Lock) simulation.Lock { return forgetful{l} }, "outlives its Unlock"},
		"loss told late":                {func(l simulation.Lock) simulation.Lock { return late(l) }, "late that"},
		"keys are left":                 {func(l simulation.Lock) simulation.Lock { return &untidy{Lock: l} }, "left on master"},
		"neither lock nor error":        {func(simulation.Lock) simulation.Lock { return nil }, "neither lock nor error"},
		"unlock takes for ever, almost": {func(l simulation.Lock) simulation.Lock { return slow{l} }, "Unlock took"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			open := func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, cl simulation.Client) (simulation.Locker, error) {
				inner, err := simulation.Product()(w, h, s, cl)
				return wrapper{inner, c.lock}, err
			}
			caught(t, open, 20, c.crime)
		})
	}
}

// TestALockThatAsksAllTheTimeIsCaught: so is one that polls.
func TestALockThatAsksAllTheTimeIsCaught(t *testing.T) {
	t.Parallel()
	open := func(w *simnet.Net, h *simnet.Host, s simulation.Schedule, c simulation.Client) (simulation.Locker, error) {
		inner, err := simulation.Product()(w, h, s, c)
		return poller{inner}, err
	}
	caught(t, open, 5, "within a second")
}

func caught(t *testing.T, open simulation.Open, within int, crime string) {
	t.Helper()
	for i := range within {
		r := run(t, simulation.Draw(uint64(i+1)), open)
		if strings.Contains(r.Report(), crime) {
			t.Logf("caught at seed %d:\n%s", r.Schedule.Seed, r.Report())
			return
		}
	}
	t.Errorf("%d schedules went by without %q: the simulation would not notice", within, crime)
}

type wrapper struct {
	simulation.Locker
	lock func(simulation.Lock) simulation.Lock
}

func (w wrapper) Lock(ctx context.Context, name string) (simulation.Lock, error) {
	return w.wrap(w.Locker.Lock(ctx, name))
}

func (w wrapper) TryLock(ctx context.Context, name string) (simulation.Lock, error) {
	return w.wrap(w.Locker.TryLock(ctx, name))
}

func (w wrapper) wrap(l simulation.Lock, err error) (simulation.Lock, error) {
	if err != nil {
		return nil, err
	}
	wrapped := w.lock(l)
	if wrapped == nil {
		_ = l.Unlock(context.Background())
	}
	return wrapped, nil
}

// forgetful keeps what it was to release.
type forgetful struct{ simulation.Lock }

func (forgetful) Unlock(context.Context) error { return nil }

// untidy says that it released.
type untidy struct {
	simulation.Lock
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelFunc
}

func (u *untidy) Context() context.Context {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ctx == nil {
		u.ctx, u.cancel = context.WithCancel(u.Lock.Context())
	}
	return u.ctx
}

func (u *untidy) Unlock(context.Context) error {
	u.Context()
	u.cancel()
	return nil
}

type slow struct{ simulation.Lock }

func (s slow) Unlock(ctx context.Context) error {
	time.Sleep(10 * time.Second)
	return s.Lock.Unlock(ctx)
}

// tardy tells of a loss when it is too late.
type tardy struct {
	simulation.Lock
	ctx context.Context
}

func late(l simulation.Lock) simulation.Lock {
	ctx, cancel := context.WithCancelCause(context.Background())
	context.AfterFunc(l.Context(), func() {
		time.Sleep(100 * time.Millisecond)
		cancel(context.Cause(l.Context()))
	})
	return tardy{l, ctx}
}

func (t tardy) Context() context.Context { return t.ctx }

// poller tries again almost at once, as often as it takes.
type poller struct{ simulation.Locker }

func (p poller) Lock(ctx context.Context, name string) (simulation.Lock, error) {
	for ctx.Err() == nil {
		if l, err := p.TryLock(ctx, name); err == nil {
			return l, nil
		}
		time.Sleep(100 * time.Microsecond)
	}
	return nil, fmt.Errorf("gave up: %w", ctx.Err())
}
