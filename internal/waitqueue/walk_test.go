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
	Waiter
	next   Instruction
	hold   *Hold
	lost   bool
	passed bool // to a caller that has not taken it
}

func (c *caller) Policy() Policy                 { return c.Request.Policy }
func (*caller) Validity(time.Time) time.Duration { return time.Hour }
func (*caller) Publish()                         {}
func (c *caller) Release()                       { c.passed = false; c.hold.Released(start, false) }

// silent is a subscription that sometimes has news.
type silent struct{ rnd *rand.Rand }

func (silent) Stop() {}

func (s silent) Take() bool { return s.rnd != nil && s.rnd.IntN(4) == 0 }

// Callers of all kinds join, ask, acquire, lose, pass on, release and leave in a random order. No step panics, what a
// queue counts is true of its callers, and nothing remains at the end.
func TestARandomWalk(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 0))
	seen := make(map[state]bool)
	for range 50 {
		qs := New(Config{
			Now:       func() time.Time { return start },
			Listen:    func([]string, func()) Subscription { return silent{rnd} },
			HeldError: func(string, string, string) error { return errors.New("held") },
		})
		var callers []*caller
		for step := 0; step < 300 || len(callers) > 0; step++ {
			if len(callers) == 0 || (step < 250 && rnd.IntN(4) == 0) {
				callers = append(callers, joining(qs, rnd))
			} else {
				i := rnd.IntN(len(callers))
				if callers[i].step(rnd) {
					callers = slices.Delete(callers, i, i+1)
				}
			}
			for _, q := range qs.byKey {
				checkQueue(t, q, callers)
			}
			for _, c := range callers {
				seen[c.state] = true
			}
		}
		require.Empty(t, qs.byKey)
	}
	require.Len(t, seen, int(states)-1, "all states but outside")
}

// joining has a caller join a queue.
func joining(qs *Queues, rnd *rand.Rand) *caller {
	name := fmt.Sprint(rnd.IntN(2))
	r := Request{Names: []string{name}, Kind: "mutex", Width: 1, Policy: mutex}
	switch rnd.IntN(6) {
	case 0:
		r.Kind, r.Policy = "writer", Policy{TTL: mutex.TTL}
	case 1, 2:
		r.Kind, r.Policy = "reentrant", Policy{TTL: mutex.TTL}
		r.Owner = fmt.Sprint("owner", rnd.IntN(2))
	case 3:
		r.Kind, r.Policy, r.Width = "reader", Policy{TTL: mutex.TTL}, Unbounded
	case 4:
		r.Kind, r.Width, r.Slotted = "semaphore", 3, true
	}
	r.Try = rnd.IntN(4) == 0
	c := new(caller)
	qs.Join(&c.Waiter, r)
	c.next = c.Next()
	return c
}

// step does something that the caller may do, and reports whether the caller has ended.
func (c *caller) step(rnd *rand.Rand) (ended bool) {
	if c.hold != nil {
		return c.end(rnd)
	}
	if c.next.Action == Wait && len(c.wake) > 0 {
		c.next = c.Next()
	}
	leaves := rnd.IntN(4) == 0
	switch {
	case c.next.Action == Fail:
		return true
	case leaves:
		c.Leave()
		return true
	case c.next.Action == Wait:
	case c.next.Action == Inherit:
		from := c.next.Lock.(*caller)
		from.passed, c.hold = false, new(Hold)
		c.Inherited(c.hold)
	case c.next.Action == Probe:
		c.Listen()
		c.OwnersHold([]string{"owner0"})
		c.Pause(time.Duration(rnd.IntN(2)))
		c.next = c.Next()
	case rnd.IntN(2) == 0 && c.mayHave():
		c.hold = new(Hold)
		if c.Slotted {
			c.ChooseSlot(nil)
		}
		c.Granted(c.hold, start, start)
	case c.Try:
		c.Leave()
		return true
	default:
		c.Failed(errors.New("refused"), rnd.IntN(2) == 0)
		c.next = c.Next()
	}
	return false
}

// mayHave reports whether the masters may grant the lock: a reentrant lock to one owner.
func (c *caller) mayHave() bool {
	return c.queue.holds < c.queue.width || c.Owner != "" && c.queue.holder == c.Owner
}

// end does what ends a hold, and reports whether it did. A hold that was passed on ends when it was taken.
func (c *caller) end(rnd *rand.Rand) bool {
	switch {
	case c.passed:
		return false
	case c.hold.state != held && !c.lost:
		return true
	case c.lost:
		c.hold.Released(start, false)
		return true
	case rnd.IntN(4) == 0:
		c.hold.Lost()
		c.lost = true
		return false
	}
	switch means := c.hold.HandOver(c, start); means {
	case WithLease:
		c.passed = true
		return false
	default:
		c.hold.Released(start, means == Silently)
		c.hold.Published(rnd.IntN(3), start)
		return true
	}
}

// checkQueue checks that what a queue counts is true of its callers.
func checkQueue(t *testing.T, q *queue, callers []*caller) {
	t.Helper()
	var turns, waits, yields, tries int
	for w := q.callers.first; w != nil; w = w.links.next {
		require.NotContains(t, []state{outside, given, gone}, w.state)
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		count(&turns, w.turn)
		count(&waits, w.state == waiting)
		count(&yields, w.state == yielding)
		count(&tries, w.state == waiting && w.Try)
		require.False(t, w.state == waiting && w.turn)
		require.Equal(t, w == q.watcher, w.turn && (w.state == probing || w.state == pausing) || w == q.watcher && w.turn)
		if w.state == pausing {
			require.GreaterOrEqual(t, w.seen, q.urgent, "there is urgent news")
		}
		if w.state == waiting || w.state == yielding || w.state == pausing {
			require.NotNil(t, w.wake, "it can be woken")
		}
	}
	require.Equal(t, turns, q.turns)
	require.EqualValues(t, yields, q.yields)
	require.EqualValues(t, waits, q.waits)
	require.EqualValues(t, tries, q.tries)
	if waits > 0 {
		require.GreaterOrEqual(t, q.turns, min(q.limit, q.width-q.holds), "a caller waits that may have the turn")
	}
	holds, lost := 0, 0
	for _, c := range callers {
		if c.hold != nil && c.hold.queue == q && (c.hold.state == held || c.lost || c.passed) {
			holds++
			if c.lost {
				lost++
			}
		}
	}
	require.Equal(t, holds, q.holds)
	require.Equal(t, lost, q.lost)
	require.False(t, q.holds-q.lost >= q.width && tries > 0 && q.key.slotted)
	require.True(t, q.callers.first != nil || q.holds > 0, "the queue is needed")
}

// The times that have passed are removed, and never so often that it costs much.
func TestYieldsAreSwept(t *testing.T) {
	t.Parallel()
	var y cooldowns
	key := func(i int) queueKey { return queueKey{names: fmt.Sprint(i)} }
	for i := range 10_000 {
		now := start.Add(time.Duration(i) * time.Second)
		c := cooldown{others: 1, until: now.Add(time.Second)}
		y.set(key(i), c, at(now))
		require.LessOrEqual(t, len(y.byKey), minSweep+1)
		require.Equal(t, c, y.get(key(i), at(now)))
		require.Zero(t, y.get(key(i), at(c.until)))
	}
	sweeps, last := 0, y.sweepAt
	now := start.Add(24 * time.Hour)
	for i := range 10_000 {
		now = now.Add(50 * time.Microsecond)
		y.set(key(i), cooldown{others: 1, until: now.Add(maxCooldown)}, at(now))
		if y.sweepAt != last {
			last = y.sweepAt
			sweeps++
		}
	}
	require.Less(t, sweeps, 6)
	require.Less(t, len(y.byKey), 10_000)
	require.Zero(t, y.get(key(-1), at(now.Add(time.Second))))
	require.Empty(t, y.byKey, "a caller that joins sweeps, too")
	y.set(key(1), cooldown{others: 1, until: now.Add(time.Second)}, at(now))
	y.set(key(1), cooldown{}, at(now))
	require.Zero(t, y.get(key(1), at(now)), "no other process waits")
}

// at is a clock that stands still.
func at(now time.Time) func() time.Time { return func() time.Time { return now } }

// Names that are not used any more take no memory, whether each name was used once, or all of them at the same time.
func TestNamesThatAreNotUsedAreForgotten(t *testing.T) {
	t.Parallel()
	const names = 100_000
	for kind, r := range map[string]Request{
		"mutex":     {Width: 1},
		"reader":    {Width: Unbounded},
		"reentrant": {Width: 1, Owner: "me"},
		"semaphore": {Width: 3, Slotted: true},
	} {
		for together, n := range map[string]int{"one after the other": 1, "at the same time": names} {
			t.Run(kind+", "+together, func(t *testing.T) {
				t.Parallel()
				now := start
				qs := New(Config{
					Now:    func() time.Time { return now },
					Listen: func([]string, func()) Subscription { return silent{} },
				})
				held := make([]*Hold, 0, n)
				for i := range names {
					r := r
					r.Names = []string{fmt.Sprint(i)}
					r.Kind = kind
					w := new(Waiter)
					qs.Join(w, r)
					h := new(Hold)
					if r.Slotted {
						w.ChooseSlot(nil)
					}
					w.Granted(h, now, now)
					if held = append(held, h); len(held) < n {
						continue
					}
					for _, h := range held {
						now = now.Add(time.Millisecond)
						h.Released(now, false)
						h.Published(2, now) // another process waits, so this one yields the name
					}
					held = held[:0]
				}
				now = now.Add(time.Second)
				var last Waiter
				qs.Join(&last, Request{Names: []string{"another"}, Width: 1})
				last.Leave()
				require.Empty(t, qs.byKey)
				require.LessOrEqual(t, len(qs.cooldowns.byKey), minSweep)
			})
		}
	}
}

// A caller that joins asks at once, however many callers ask already: the queue does not look for it. In this test it
// would not find it either, since the list of the callers is cut.
func TestACallerThatJoinsIsNotSearchedFor(t *testing.T) {
	t.Parallel()
	for kind, r := range map[string]Request{
		"reader":    {Names: []string{"x"}, Width: Unbounded},
		"semaphore": {Names: []string{"x"}, Width: 3, Slotted: true},
	} {
		qs := New(Config{})
		var first, second, third Waiter
		qs.Join(&first, r)
		qs.Join(&second, r)
		first.links.next = nil
		require.NotPanics(t, func() { qs.Join(&third, r) }, kind)
		require.Equal(t, Ask, third.Next().Action, kind)
	}
}
