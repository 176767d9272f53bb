package stacktest_test

import (
	"cmp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// Every field of what Inspect returns, for each kind of lock, and for masters that differ.
func TestEveryFieldOfInspect(t *testing.T) {
	t.Parallel()
	type (
		holder  = redlock.Holder
		row     = redlock.NodeHolding
		holding = redlock.Holding
	)
	const s = time.Second
	must := func(lk *redlock.Lock, err error) *redlock.Lock {
		require.NoError(t, err)
		return lk
	}
	long, short := redlock.WithTTL(9*s), redlock.WithTTL(4*s)
	// alike is the holding that all three masters report alike.
	alike := func(h holding, holders ...holder) holding {
		slices.SortFunc(holders, func(a, b holder) int { return cmp.Compare(a.Token, b.Token) })
		longest := slices.MaxFunc(holders, func(a, b holder) int { return cmp.Compare(a.Left, b.Left) })
		of := row{Kind: h.Kind, Token: longest.Token, Left: longest.Left, Fence: h.Fence}
		for i := range holders {
			holders[i].Votes = 1
			of.Holders = append(of.Holders, holders[i])
			holders[i].Votes = 3
		}
		h.Name, h.Holders, h.Nodes = "x", holders, []row{of, of, of}
		return h
	}
	for name, make := range map[string]func(t *testing.T, w *world, l *redlock.Locker) holding{
		"nobody": func(*testing.T, *world, *redlock.Locker) holding {
			return holding{Name: "x", Nodes: []row{{}, {}, {}}}
		},
		"a mutex": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			lk := lock(t, l, "x", long)
			return alike(holding{Kind: "mutex", Depth: 1}, holder{Token: lk.Token(), Left: 8 * s})
		},
		"a fenced mutex": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			lk := lock(t, l, "x", short, redlock.WithFencing())
			return alike(holding{Kind: "mutex", Depth: 1, Fence: lk.Fence()}, holder{Token: lk.Token(), Left: 3 * s})
		},
		"readers": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			one, two := must(l.RW("x").RLock(t.Context(), short)), must(l.RW("x").RLock(t.Context(), long))
			return alike(holding{Kind: "reader", Depth: 1},
				holder{Token: one.Token(), Left: 3 * s}, holder{Token: two.Token(), Left: 8 * s})
		},
		"a writer": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			lk := must(l.RW("x").Lock(t.Context(), short))
			return alike(holding{Kind: "writer", Depth: 1}, holder{Token: lk.Token(), Left: 3 * s})
		},
		"nested holds": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			one := must(l.Reentrant("x", "me").Lock(t.Context(), long))
			two := must(l.Reentrant("x", "me").Lock(t.Context(), short))
			return alike(holding{Kind: "reentrant", Depth: 2},
				holder{Token: one.Token(), Left: 8 * s}, holder{Token: two.Token(), Left: 3 * s})
		},
		"permits": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			first := must(l.Semaphore("x", 3).Acquire(t.Context(), short))
			second := must(l.Semaphore("x", 3).Acquire(t.Context(), long))
			third := must(l.Semaphore("x", 3).Acquire(t.Context(), long))
			unlock(t, first)
			h := alike(holding{Kind: "semaphore", Depth: 1, Slots: 3},
				holder{Token: second.Token(), Left: 8 * s}, holder{Token: third.Token(), Left: 8 * s})
			// Which slots and, of two that last equally long, which token a row has is not told here.
			got, err := l.Inspect(t.Context(), "x")
			require.NoError(t, err)
			var slots []int
			for i := range h.Holders {
				slots = append(slots, got.Holders[i].Slot)
				h.Holders[i].Slot = got.Holders[i].Slot
				for j := range h.Nodes {
					h.Nodes[j].Holders[i].Slot = got.Holders[i].Slot
					h.Nodes[j].Token = got.Nodes[j].Token
				}
			}
			slices.Sort(slots)
			assert.Len(t, slices.Compact(slots), 2)
			assert.Subset(t, []int{1, 2, 3}, slots)
			return h
		},
		"a minimum hold": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			lk := lock(t, l, "x", redlock.WithMinHold(5*s))
			synctest.Wait()
			unlock(t, lk)
			synctest.Wait()
			h, err := l.Inspect(t.Context(), "x")
			require.NoError(t, err)
			require.Len(t, h.Holders, 1)
			assert.Equal(t, "min-hold:", h.Holders[0].Token[:9])
			assert.InDelta(t, 5*s+52*time.Millisecond, h.Holders[0].Left, float64(time.Millisecond))
			return alike(holding{Kind: "mutex", Depth: 1},
				holder{Token: h.Holders[0].Token, Left: h.Holders[0].Left - s})
		},
		"another client's key without a TTL": func(_ *testing.T, w *world, _ *redlock.Locker) holding {
			w.foreign("x", 0)
			return alike(holding{Kind: "mutex", Depth: 1}, holder{Token: "foreign", Left: -time.Millisecond})
		},
		"a majority with different TTLs, another holder, and a counter": func(
			_ *testing.T, w *world, _ *redlock.Locker,
		) holding {
			w.foreign("x", 3*s, 0)
			w.foreign("x", 7*s, 2)
			w.Master(1).Set("x", "other", 5*s)
			count(w.Master(1), "x", "77")
			of := func(token string, left time.Duration) row {
				return row{Kind: "mutex", Token: token, Left: left, Holders: []holder{{Token: token, Votes: 1, Left: left}}}
			}
			h := holding{
				Name: "x", Kind: "mutex", Depth: 1, Holders: []holder{{Token: "foreign", Votes: 2, Left: 2 * s}},
				Nodes: []row{of("foreign", 2*s), of("other", 4*s), of("foreign", 6*s)},
			}
			h.Nodes[1].Fence = 77
			return h
		},
	} {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			l := w.locker(t, "a", redlock.WithoutKeepalive())
			want := make(t, w, l)
			for i := range want.Nodes {
				want.Nodes[i].Node = w.Addr(i)
			}
			time.Sleep(s)
			got, err := l.Inspect(t.Context(), "x")
			require.NoError(t, err)
			for _, n := range got.Nodes { // their order is not told
				slices.SortFunc(n.Holders, func(a, b holder) int { return cmp.Compare(a.Token, b.Token) })
			}
			assert.Equal(t, want, got)
		})
	}
}

// A master that does not answer has a row with its error. Without a majority the answers that arrived are there.
func TestInspectReportsMastersThatDoNotAnswer(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x")
		synctest.Wait()
		w.Master(0).Freeze()
		got, err := l.Inspect(t.Context(), "x")
		require.NoError(t, err)
		var failed *redlock.NodeError
		require.ErrorAs(t, got.Nodes[0].Err, &failed)
		assert.Equal(t, []string{w.Addr(0), "inspect"}, []string{failed.Node, failed.Op})
		assert.Equal(t, redlock.NodeHolding{Node: w.Addr(0), Err: got.Nodes[0].Err}, got.Nodes[0])
		require.Len(t, got.Holders, 1)
		assert.Equal(t, redlock.Holder{Token: lk.Token(), Votes: 2, Left: got.Holders[0].Left}, got.Holders[0])
		w.Master(1).Freeze()
		began := time.Now()
		got, err = l.Inspect(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.LessOrEqual(t, time.Since(began), timeout)
		require.Len(t, redlock.NodeErrors(err), 2)
		assert.Empty(t, got.Holders)
		assert.Empty(t, got.Kind)
		require.Error(t, got.Nodes[1].Err)
		require.NoError(t, got.Nodes[2].Err)
		assert.Equal(t, []string{"x", lk.Token()}, []string{got.Name, got.Nodes[2].Token})
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrNoQuorum)
	})
}
