package waitqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
