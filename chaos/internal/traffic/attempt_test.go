package traffic_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// fakeWorld is a World whose time the test sets.
type fakeWorld struct {
	traffic.World
	now    time.Duration
	gained time.Duration // by how much the lock's clock is ahead of the history's
	events []history.Event
}

var epoch = time.Unix(0, 0)

func (w *fakeWorld) Now() time.Duration                 { return w.now }
func (w *fakeWorld) TrueTime(t time.Time) time.Duration { return t.Sub(epoch) - w.gained }
func (w *fakeWorld) Awake()                             {}
func (w *fakeWorld) At(string)                          {}

func (w *fakeWorld) Write(e history.Event) {
	if e.T == 0 {
		e.T = w.now
	}
	w.events = append(w.events, e)
}

// fakeLock is a lock whose deadline the test moves.
type fakeLock struct {
	kinds.Lock
	until time.Duration
}

type fakeLocker struct {
	kinds.Locker
	lock *fakeLock
}

func (f fakeLocker) Lock(context.Context, kinds.Request) (kinds.Lock, error) { return f.lock, nil }

// taken returns an attempt that has the lock.
func taken(t *testing.T, world *fakeWorld, lock *fakeLock, look time.Duration) *traffic.Attempt {
	t.Helper()
	life := &traffic.Life{Config: traffic.Config{Client: "c0"}, World: world, Locker: fakeLocker{lock: lock}, Look: look}
	return life.Worker().Take(t.Context(), kinds.Request{Names: []string{"one"}, TTL: 10 * time.Second})
}

func (f *fakeLock) Token() string            { return "token" }
func (f *fakeLock) Fence() uint64            { return 0 }
func (f *fakeLock) Context() context.Context { return context.Background() }
func (f *fakeLock) Until() time.Time         { return epoch.Add(f.until) }

// A holder that reads its deadline only at the end of its hold may have relied on a later deadline since the hold
// began. Until it reads an earlier deadline it relied on the old one. If only its clock runs faster, the deadline is
// the same, and has an earlier time in the history.
func TestWhenAHolderLearnsOfANewDeadline(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, tt := range map[string]struct {
		look, moved time.Duration // the deadline was 10 s
		learned     time.Duration
		believed    time.Duration
	}{
		"later, seen at the end":    {0, 20 * second, 1 * second, 15 * second},
		"later, seen on the way":    {second, 20 * second, 9 * second, 9 * second},
		"earlier, seen at the end":  {0, 3 * second, 7 * second, 7 * second},
		"earlier, seen on the way":  {second, 3 * second, 7 * second, 7 * second},
		"earlier, and not yet over": {0, 9 * second, 7 * second, 7 * second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world, lock := &fakeWorld{now: second}, &fakeLock{until: 10 * second}
			a := taken(t, world, lock, tt.look)
			lock.until = tt.moved
			world.now = tt.believed
			a.Over()
			history.Sort(world.events)

			extended := slices.ContainsFunc(world.events, func(e history.Event) bool {
				return e.Kind == history.Extended && e.T == tt.learned && e.Until == tt.moved
			})
			assert.True(t, extended, "%v", world.events)
			beliefs := check.Intervals(world.events)
			assert.Equal(t, tt.believed, beliefs[len(beliefs)-1].End)
		})
	}
	world, lock := &fakeWorld{now: second}, &fakeLock{until: 10 * second}
	a := taken(t, world, lock, 0)
	world.now, world.gained = 9*second, 2*second
	a.Over()
	history.Sort(world.events)
	beliefs := check.Intervals(world.events)
	assert.Equal(t, 8*second, beliefs[len(beliefs)-1].End, "%v", beliefs)
}
