package stacktest_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Every field of what Inspect returns, for each kind of lock, and for masters that differ.
func TestEveryFieldOfInspect(t *testing.T) {
	t.Parallel()
	type (
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
	alike := func(h holding, holders ...redlock.Holder) holding {
		slices.SortFunc(holders, func(a, b redlock.Holder) int { return cmp.Compare(a.Token, b.Token) })
		longest := slices.MaxFunc(holders, func(a, b redlock.Holder) int { return cmp.Compare(a.Left, b.Left) })
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
			return alike(holding{Kind: "mutex", Depth: 1}, redlock.Holder{Token: lk.Token(), Left: 8 * s})
		},
		"a fenced mutex": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			lk := lock(t, l, "x", short, redlock.WithFencing())
			return alike(holding{Kind: "mutex", Depth: 1, Fence: lk.Fence()}, redlock.Holder{Token: lk.Token(), Left: 3 * s})
		},
		"readers": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			one, two := must(l.RW("x").RLock(t.Context(), short)), must(l.RW("x").RLock(t.Context(), long))
			return alike(holding{Kind: "reader", Depth: 1},
				redlock.Holder{Token: one.Token(), Left: 3 * s}, redlock.Holder{Token: two.Token(), Left: 8 * s})
		},
		"a writer": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			lk := must(l.RW("x").Lock(t.Context(), short))
			return alike(holding{Kind: "writer", Depth: 1}, redlock.Holder{Token: lk.Token(), Left: 3 * s})
		},
		"nested holds": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			one := must(l.Reentrant("x", "me").Lock(t.Context(), long))
			two := must(l.Reentrant("x", "me").Lock(t.Context(), short))
			return alike(holding{Kind: "reentrant", Depth: 2},
				redlock.Holder{Token: one.Token(), Left: 8 * s}, redlock.Holder{Token: two.Token(), Left: 3 * s})
		},
		"permits": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			one := must(l.Semaphore("x", 3).Acquire(t.Context(), short))
			two := must(l.Semaphore("x", 3).Acquire(t.Context(), long))
			slots := make(map[string]int) // chosen at random
			for _, h := range inspect(t, l, "x").Holders {
				slots[h.Token] = h.Slot
			}
			assert.Subset(t, []int{1, 2, 3}, []int{slots[one.Token()], slots[two.Token()]})
			assert.NotEqual(t, slots[one.Token()], slots[two.Token()])
			return alike(holding{Kind: "semaphore", Depth: 1, Slots: 3},
				redlock.Holder{Token: one.Token(), Slot: slots[one.Token()], Left: 3 * s},
				redlock.Holder{Token: two.Token(), Slot: slots[two.Token()], Left: 8 * s})
		},
		"a minimum hold": func(t *testing.T, _ *world, l *redlock.Locker) holding {
			lk := lock(t, l, "x", redlock.WithMinHold(5*s))
			synctest.Wait()
			unlock(t, lk)
			synctest.Wait()
			kept := holder(t, l, "x")
			assert.Equal(t, "min-hold:", kept.Token[:9])
			assert.InDelta(t, 5*s+52*time.Millisecond, kept.Left, float64(time.Millisecond))
			return alike(holding{Kind: "mutex", Depth: 1}, redlock.Holder{Token: kept.Token, Left: kept.Left - s})
		},
		"another client's key without a TTL": func(_ *testing.T, w *world, _ *redlock.Locker) holding {
			w.foreign("x", 0)
			return alike(holding{Kind: "mutex", Depth: 1}, redlock.Holder{Token: "foreign", Left: -time.Millisecond})
		},
		"a majority with different TTLs, another holder, and a counter": func(
			_ *testing.T, w *world, _ *redlock.Locker,
		) holding {
			w.foreign("x", 3*s, 0)
			w.foreign("x", 7*s, 2)
			w.Master(1).Set("x", "other", 5*s)
			count(w.Master(1), "x", "77")
			of := func(token string, left time.Duration) row {
				return row{Kind: "mutex", Token: token, Left: left, Holders: []redlock.Holder{{Token: token, Votes: 1, Left: left}}}
			}
			h := holding{
				Name: "x", Kind: "mutex", Depth: 1, Holders: []redlock.Holder{{Token: "foreign", Votes: 2, Left: 2 * s}},
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
			got := inspect(t, l, "x")
			for _, n := range got.Nodes { // their order is not told
				slices.SortFunc(n.Holders, func(a, b redlock.Holder) int { return cmp.Compare(a.Token, b.Token) })
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
		assert.Equal(t, redlock.Holding{Name: "x", Nodes: got.Nodes}, got)
		require.Error(t, got.Nodes[1].Err)
		require.NoError(t, got.Nodes[2].Err)
		assert.Equal(t, lk.Token(), got.Nodes[2].Token)
		require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrNoQuorum)
	})
}

// Of a master that refuses what a vote needs, Stats says the same.
func TestNodesSaysWhoMayVoteAndWhyNot(t *testing.T) {
	inWorld(t, 13, func(t *testing.T, w *world) {
		w.Master(1).Delay(5*time.Millisecond, 0)
		w.Master(2).Crash()
		w.Master(3).Info("role", "slave")
		w.Master(4).Info("uptime_in_seconds", "4")
		w.Master(5).Info("loading", "1")
		w.Master(7).Reply("NOPERM no permissions to run the 'evalsha' command", "EVALSHA", "EVAL")
		w.Master(8).Reply("NOPERM no permissions to run the 'info' command", "INFO")
		l := w.locker(t, "a")
		unlock(t, lock(t, l, "x"))
		time.Sleep(100 * time.Millisecond)
		rows, err := l.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, rows, 13)
		for i, row := range rows {
			assert.Equal(t, w.Addr(i), row.Node)
			assert.Equal(t, i != 2 && i != 8, row.Reachable, i)
			assert.Equal(t, i < 2 || i == 6 || i > 8, row.MayVote, i)
			assert.Equal(t, row.MayVote, row.Err == nil)
			if row.Err != nil {
				var one *redlock.NodeError
				require.ErrorAs(t, row.Err, &one)
				assert.Equal(t, w.Addr(i), one.Node)
			}
			if row.Reachable {
				assert.Equal(t, "7.0.15", row.Version)
				assert.Equal(t, w.Master(i).RunID(), row.RunID)
			}
		}
		assert.Equal(t, 10*time.Millisecond, rows[1].RoundTrip, "of a connection that is made")
		assert.Equal(t, "master", rows[0].Role)
		assert.Equal(t, 24*time.Hour, rows[0].Uptime)
		assert.ErrorContains(t, rows[2].Err, "refused")
		assert.ErrorContains(t, rows[3].Err, "slave")
		assert.ErrorContains(t, rows[4].Err, "restarted")
		assert.InDelta(t, float64(ttl+drift-3*time.Second), float64(rows[4].VoteIn), float64(time.Second))
		assert.ErrorContains(t, rows[5].Err, "loading its dataset")
		assert.Zero(t, rows[5].VoteIn, "unknown")
		assert.Zero(t, rows[0].VoteIn)
		for i, n := range l.Stats().Nodes[7:9] {
			assert.Equal(t, redlock.NodeBarred, rows[7+i].State)
			assert.Equal(t, []any{redlock.NodeBarred, false}, []any{n.State, n.MayVote})
			assert.Error(t, n.Err)
		}

		w.Master(6).Crash()
		rows, err = l.Nodes(t.Context())
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.ErrorContains(t, err, "6 of 13")
		require.Len(t, rows, 13)
		assert.False(t, rows[6].Reachable)
	})
}

// A name that many hold is listed in part, and counted whole.
func TestInspectCountsTheHoldersThatItDoesNotList(t *testing.T) {
	t.Parallel()
	const holds = 1000
	for kind, slots := range map[redlock.Kind]int{"reader": 0, "reentrant": 0, "semaphore": 1024} {
		subWorld(t, string(kind), 3, func(t *testing.T, w *world) {
			for i := range holds {
				token := fmt.Sprintf("%s:%032x", strings.Repeat("o", 1024), i)
				if slots > 0 {
					token = fmt.Sprintf("%d:%d:%s", slots, i+1, token)
				}
				ends := float64(time.Now().Add(ttl).UnixMilli())
				each(w.Masters(), func(m *simnet.Master) {
					_, _ = m.Redis().ZAdd("x", ends, "redlock:"+string(kind)+":"+token)
				})
			}
			h := inspect(t, w.locker(t, "a"), "x")
			assert.NotEmpty(t, h.Holders)
			assert.Equal(t, []any{kind, slots, holds}, []any{h.Kind, h.Slots, len(h.Holders) + h.Others})
			assert.Equal(t, kind == "reentrant", h.Depth == holds)
			for _, n := range h.Nodes {
				assert.Positive(t, n.Others)
				assert.Equal(t, h.Others, n.Others)
			}
		})
	}
}
