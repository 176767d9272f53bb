package waitqueue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// caller is a caller of a random walk. It does in every state what a caller may do.
type caller struct {
	Request
	w       *Waiter
	wakeup  Wakeup // the turn; the zero Wakeup: none yet
	hold    *Hold
	expired bool
}

func (c *caller) Policy() Policy                 { return c.Request.Policy }
func (*caller) Validity(time.Time) time.Duration { return time.Hour }
func (*caller) Publish()                         {}
func (c *caller) Release()                       { c.hold.Released(start, false) }

// silent is a subscription that receives nothing.
type silent struct{}

func (silent) Stop() {}

// Callers of all kinds join, ask, acquire, lose, pass on, release and leave in a random order. No step panics, every
// phase says what is true of its queue, and nothing remains at the end.
func TestARandomWalk(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	seen := make(map[phase]bool)
	for range 200 {
		qs := New(Config{
			Now:       func() time.Time { return start },
			Listen:    func([]string) Subscription { return silent{} },
			HeldError: func(string, string, string) error { return errors.New("held") },
		})
		var callers []*caller
		for step := range 300 {
			if len(callers) == 0 || (step < 250 && rnd.IntN(4) == 0) {
				callers = append(callers, joining(qs, rnd)...)
			} else {
				i := rnd.IntN(len(callers))
				if callers[i].step(qs, rnd) {
					callers = slices.Delete(callers, i, i+1)
				}
			}
			for _, q := range qs.byKey {
				checkQueue(t, q, callers)
				seen[q.phase] = true
			}
		}
		for len(callers) > 0 {
			i := rnd.IntN(len(callers))
			if callers[i].step(qs, rnd) {
				callers = slices.Delete(callers, i, i+1)
			}
		}
		require.Empty(t, qs.byKey)
	}
	require.Len(t, seen, int(phases)-2, "all phases but illegal, and idle, in which there is no queue")
}

// joining has a caller join a queue. It returns nothing if the queue answers.
func joining(qs *Queues, rnd *rand.Rand) []*caller {
	name := fmt.Sprint(rnd.IntN(2))
	c := &caller{Request: Request{Key: KeyOf([]string{name}), Names: []string{name}, Kind: "mutex", Policy: mutex}}
	switch rnd.IntN(4) {
	case 0:
		c.Try = true
	case 1:
		c.Kind, c.Request.Policy = "writer", Policy{TTL: mutex.TTL}
	case 2:
		c.Kind, c.Request.Policy = "reentrant", Policy{TTL: mutex.TTL}
		c.Owner, c.Alone = fmt.Sprint("owner", rnd.IntN(2)), rnd.IntN(4) == 0
	}
	w, err := qs.Join(c.Request)
	if err != nil {
		return nil
	}
	c.w = w
	return []*caller{c}
}

// step does something that the caller may do, and reports whether the caller has ended.
func (c *caller) step(qs *Queues, rnd *rand.Rand) (ended bool) {
	if c.hold != nil {
		return c.end(rnd)
	}
	if c.wakeup.Action == 0 {
		select {
		case c.wakeup = <-c.w.Wakeups():
		case <-c.w.Nudges():
			c.grant()
			return false
		default:
		}
	}
	leaves := rnd.IntN(4) == 0
	switch {
	case c.wakeup.Action == Fail:
		return true
	case leaves:
		c.w.Leave()
		return true
	case c.wakeup.Action == Inherit:
		c.hold = new(Hold)
		c.w.Inherited(c.hold)
	case c.wakeup.Action == 0:
	case rnd.IntN(2) == 0:
		c.grant()
	case c.Try:
		c.w.Leave()
		return true
	default:
		c.w.Listen()
		c.wakeup = Wakeup{}
		c.w.Failed(errors.New("refused"), rnd.IntN(2) == 0)
		qs.Nudge(c.Key, "owner0")
	}
	return false
}

func (c *caller) grant() {
	c.hold = new(Hold)
	c.w.Granted(c.hold, start, start)
}

// end does what ends a hold, and reports whether it did.
func (c *caller) end(rnd *rand.Rand) bool {
	switch {
	case c.expired:
		c.hold.Released(start, false)
		return true
	case rnd.IntN(4) == 0:
		c.hold.Lost()
		c.expired = true
		return false
	case c.hold.PassLease(c, start):
		return true
	}
	c.hold.Released(start, c.hold.KeepSilent(c, start))
	c.hold.Published(rnd.IntN(3), start)
	return true
}

// checkQueue checks that a queue is as its phase says.
func checkQueue(t *testing.T, q *queue, callers []*caller) {
	t.Helper()
	var turns []*Waiter
	for w := q.waiting.first; w != nil; w = q.waiting.next(w) {
		if w.hasTurn {
			turns = append(turns, w)
		}
	}
	holds := 0
	for _, c := range callers {
		if c.hold != nil && c.hold.queue == q {
			holds++
		}
	}
	head := q.waiting.first
	switch q.phase {
	case asking, denied:
		require.Equal(t, []*Waiter{head}, turns)
		require.Zero(t, holds)
	case held, ending:
		require.Empty(t, turns)
		require.Positive(t, q.holds)
	case passing:
		require.Equal(t, []*Waiter{head}, turns)
		require.NotNil(t, head.inherit)
		require.Nil(t, q.newest)
		require.Zero(t, holds)
	case overlapping:
		require.Equal(t, []*Waiter{head}, turns)
		require.Positive(t, q.holds)
	default:
		require.Fail(t, "a queue that is not needed", "%v", q.phase)
	}
	if q.phase != passing {
		require.Equal(t, holds, q.holds)
	}
	for w := q.tryLocks.first; w != nil; w = q.tryLocks.next(w) {
		require.False(t, w.hasTurn)
		require.NotEqual(t, denied, q.phase)
	}
	for owner, list := range q.owners {
		require.NotNil(t, list.first, owner)
	}
}

// The times that have passed are removed, and never so often that it costs much.
func TestYieldsAreSwept(t *testing.T) {
	t.Parallel()
	var y yields
	key := func(i int) Key { return KeyOf([]string{fmt.Sprint(i)}) }
	for i := range 10_000 {
		now := start.Add(time.Duration(i) * time.Second)
		y.set(key(i), now.Add(time.Second), now)
		require.LessOrEqual(t, len(y.until), minSweep+1)
		require.Equal(t, time.Second, y.remaining(key(i), func() time.Time { return now }))
	}
	sweeps, last := 0, y.sweepAt
	now := start.Add(24 * time.Hour)
	for i := range 10_000 {
		now = now.Add(50 * time.Microsecond)
		y.set(key(i), now.Add(maxCooldown), now)
		if y.sweepAt != last {
			last = y.sweepAt
			sweeps++
		}
	}
	require.Less(t, sweeps, 6)
	require.Less(t, len(y.until), 10_000)
	require.Zero(t, y.remaining(key(-1), func() time.Time { return now.Add(time.Second) }))
	require.Empty(t, y.until, "a caller that joins sweeps, too")
	y.set(key(1), now.Add(time.Second), now)
	y.clear(key(1))
	require.Zero(t, y.remaining(key(1), func() time.Time { return now }))
}
