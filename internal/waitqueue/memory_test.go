package waitqueue

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Names that are not used any more take no memory, apart from a bounded number of semaphores, whose slots are
// remembered: whether each name was used once, or all of them at the same time.
func TestNamesThatAreNotUsedAreForgotten(t *testing.T) {
	t.Parallel()
	const names = 100_000
	for kind, r := range map[string]Request{
		"mutex":     {},
		"reader":    {Width: Unbounded},
		"reentrant": {Owner: "me"},
		"alone":     {Owner: "me", Alone: true},
		"semaphore": {Width: 3},
	} {
		for together, n := range map[string]int{"one after the other": 1, "at the same time": names} {
			t.Run(kind+", "+together, func(t *testing.T) {
				t.Parallel()
				now := start
				qs := New(Config{
					Now:    func() time.Time { return now },
					Listen: func([]string) Subscription { return silent{} },
				})
				held := make([]*Hold, 0, n)
				for i := range names {
					r := r
					r.Names = []string{fmt.Sprint(i)}
					r.Key, r.Kind = KeyOf(r.Names), kind
					w, err := qs.Join(r)
					require.NoError(t, err)
					<-w.Wakeups()
					h := new(Hold)
					if r.Width == 3 {
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
				last, err := qs.Join(Request{Names: []string{"another"}, Key: KeyOf([]string{"another"})})
				require.NoError(t, err)
				last.Leave()
				require.Empty(t, qs.byKey)
				require.LessOrEqual(t, len(qs.pools), maxIdlePools)
				require.Equal(t, len(qs.pools), qs.idle.size)
				require.LessOrEqual(t, len(qs.yields.until), minSweep)
			})
		}
	}
}
