package traffic_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// still is a World whose time is what the test sets.
type still struct {
	traffic.World
	now    time.Duration
	gained time.Duration // how much earlier the lock's clock comes to the deadline than it would have
	events []history.Event
}

var epoch = time.Unix(0, 0)

func (s *still) Now() time.Duration                 { return s.now }
func (s *still) TrueTime(t time.Time) time.Duration { return t.Sub(epoch) - s.gained }
func (s *still) Awake()                             {}

func (s *still) Write(e history.Event) {
	if e.T == 0 {
		e.T = s.now
	}
	s.events = append(s.events, e)
}

// movable is a lock whose deadline the test moves.
type movable struct {
	locker.Lock
	until time.Duration
}

func (m *movable) Token() string            { return "token" }
func (m *movable) Fence() uint64            { return 0 }
func (m *movable) Context() context.Context { return context.Background() }
func (m *movable) Until() time.Time         { return epoch.Add(m.until) }

// A holder that looks only at the end of its hold believed in a later deadline all the time. Until it learns of an
// earlier one it relies on the old one. If its clock runs faster the deadline is the same, and only its time in the
// history is earlier.
func TestADeadlineThatMovedBackIsLearnedLate(t *testing.T) {
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
			world, lock := &still{now: second}, &movable{until: 10 * second}
			life := &traffic.Life{Config: traffic.Config{Client: "c0"}, World: world, Look: tt.look}
			a := life.Worker().Ask(locker.Request{Names: []string{"one"}, TTL: 10 * second})
			a.Acquired(lock)
			lock.until = tt.moved
			world.now = tt.believed
			a.Over()
			history.Sort(world.events)

			extended := has(world.events, func(e history.Event) bool {
				return e.Kind == history.Extended && e.T == tt.learned && e.Until == tt.moved
			})
			assert.Equal(t, 1, extended, "%v", world.events)
			beliefs := check.Intervals(world.events)
			assert.Equal(t, tt.believed, beliefs[len(beliefs)-1].End)
		})
	}
	world, lock := &still{now: second}, &movable{until: 10 * second}
	life := &traffic.Life{Config: traffic.Config{Client: "c0"}, World: world}
	a := life.Worker().Ask(locker.Request{Names: []string{"one"}, TTL: 10 * second})
	a.Acquired(lock)
	world.now, world.gained = 9*second, 2*second
	a.Over()
	history.Sort(world.events)
	beliefs := check.Intervals(world.events)
	assert.Equal(t, 8*second, beliefs[len(beliefs)-1].End, "%v", beliefs)
}
