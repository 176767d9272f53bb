package redlock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// handOver takes x and returns its token, as a process does that starts another and ends.
func handOver(t *testing.T, w *world, opts ...redlock.LockOption) string {
	t.Helper()
	lk := lock(t, w.locker(t, "parent"), "x", append(opts, redlock.WithoutKeepalive())...)
	synctest.Wait()
	w.Host("parent").Freeze()
	return lk.Token()
}

func TestAttachContinuesALockAcquiredElsewhere(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		token := handOver(t, w)
		time.Sleep(3 * time.Second)
		l, other := w.locker(t, "child"), w.locker(t, "other")
		ctx := context.WithValue(t.Context(), key{}, "value")
		asked := time.Now()
		lk, err := l.Attach(ctx, "x", token)
		require.NoError(t, err)
		assert.Equal(t, "x", lk.Name())
		assert.Equal(t, token, lk.Token())
		assert.Equal(t, "value", lk.Context().Value(key{}))
		assert.Equal(
			t, asked.Add(7*time.Second-drift), lk.Until(), "what the masters vouch for, less the drift of a TTL",
		)

		time.Sleep(5 * ttl)
		require.NoError(t, lk.Err(), "kept alive")
		_, err = other.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		_, err = l.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrHeld)
		require.NoError(t, lk.Extend(t.Context()))
		unlock(t, lk)
		synctest.Wait()
		assert.Zero(t, w.keys())
		unlock(t, lock(t, other, "x"))
	})
}

// The keepalive must come before a third of the TTL is over.
func TestAttachToALockThatIsAboutToEnd(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		token := handOver(t, w)
		time.Sleep(ttl - time.Second)
		lk, err := w.locker(t, "child").Attach(t.Context(), "x", token)
		require.NoError(t, err)
		time.Sleep(3 * ttl)
		require.NoError(t, lk.Err())
		unlock(t, lk)
	})
}

func TestAttachObeysItsOptions(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		token := handOver(t, w)
		l := w.locker(t, "child")
		lk, err := l.Attach(t.Context(), "x", token, redlock.WithMaxHold(2*time.Second))
		require.NoError(t, err)
		assert.Equal(t, 2*time.Second, time.Until(lk.Until()))
		time.Sleep(2 * time.Second)
		require.ErrorContains(t, lk.Err(), "WithMaxHold")
		time.Sleep(time.Second)
		assert.Zero(t, w.keys())

		w.Host("parent").Thaw()
		token = handOver(t, w)
		lk, err = l.Attach(t.Context(), "x", token, redlock.WithoutKeepalive())
		require.NoError(t, err)
		time.Sleep(ttl)
		require.ErrorIs(t, lk.Err(), redlock.ErrLost)

		w.Host("parent").Thaw()
		token = handOver(t, w)
		lk, err = l.Attach(t.Context(), "x", token, redlock.WithTTL(5*time.Second))
		require.NoError(t, err)
		assert.Greater(t, time.Until(lk.Until()), 9*time.Second)
		require.NoError(t, lk.Extend(t.Context()))
		assert.Equal(t, ttl-drift, time.Until(lk.Until()), "an extension never shortens a TTL")
		unlock(t, lk)
	})
}

// TestAnExtensionNeverShortensATTLAfterAttach has two processes with different TTLs pass a lock on. Neither the late
// extension of the first, nor one of the second, which then dies, may free the name while the other one holds it.
func TestAnExtensionNeverShortensATTLAfterAttach(t *testing.T) {
	t.Parallel()
	const short, long = 5 * time.Second, 30 * time.Second
	window := redlock.WithMaxTTL(2 * long)
	for _, tt := range []struct {
		name          string
		parent, child time.Duration
		childDies     bool
	}{
		{"a late extension of the first", short, long, false},
		{"the second has a shorter TTL, and dies", long, short, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				parent := w.locker(t, "parent", redlock.WithoutKeepalive(), window)
				child, other := w.locker(t, "child", redlock.WithoutKeepalive(), window), w.locker(t, "other", window)
				w.warm(t, other)
				first := lock(t, parent, "x", redlock.WithTTL(tt.parent))
				synctest.Wait()
				require.NoError(t, first.Extend(t.Context()))
				if !tt.childDies {
					for i := range w.Masters() {
						w.Host("parent").To(i).DelayWay(simnet.ToMaster, timeout-50*time.Millisecond, 0)
					}
					go func() { _ = first.Extend(t.Context()) }()
					time.Sleep(10 * time.Millisecond)
					w.Host("parent").Kill()
				}
				second, err := child.Attach(t.Context(), "x", first.Token(), redlock.WithTTL(tt.child))
				require.NoError(t, err)
				require.NoError(t, second.Extend(t.Context()))
				if tt.childDies {
					w.Host("child").Kill()
				}
				out := inBackground(func() (*redlock.Lock, error) { return other.Lock(t.Context(), "x") })
				got := ended(t, out, 2*long)
				require.NoError(t, got.err)
				assert.False(t, time.Now().Before(first.Until()), "the first held it until %v", first.Until())
				assert.False(t, time.Now().Before(second.Until()), "the second held it until %v", second.Until())
				unlock(t, got.lock)
			})
		})
	}
}

func TestAttachNeedsAMajorityWithTheToken(t *testing.T) {
	t.Parallel()
	const token = "parent:token"
	for _, tt := range []struct {
		name  string
		setup func(w *world)
		want  error // nil: attached
		left  time.Duration
	}{
		{"free", func(*world) {}, redlock.ErrLost, 0},
		{"another's", func(w *world) { w.foreign("x", time.Minute) }, redlock.ErrHeld, 0},
		{"another's on a majority", func(w *world) {
			w.foreign("x", time.Minute, 0, 1, 2)
			w.Master(3).Set("x", token, time.Minute)
		}, redlock.ErrHeld, 0},
		{"on a minority", func(w *world) {
			w.Master(0).Set("x", token, time.Minute)
			w.Master(1).Set("x", token, time.Minute)
		}, redlock.ErrLost, 0},
		{"on a majority, each with a TTL of its own", func(w *world) {
			for i, left := range []time.Duration{9, 3, 7} {
				w.Master(i).Set("x", token, left*time.Second)
			}
		}, nil, 3 * time.Second},
		{"on all, of which three vouch for more", func(w *world) {
			for i, left := range []time.Duration{1, 5, 8, 2, 6} {
				w.Master(i).Set("x", token, left*time.Second)
			}
		}, nil, 5 * time.Second},
		{"without a TTL, since a client removed it", func(w *world) {
			for _, m := range w.Masters() {
				m.Set("x", token, 0)
			}
		}, nil, ttl},
		{"two of five are down", func(w *world) {
			w.Master(3).Crash()
			w.Master(4).Freeze()
			for _, m := range w.some(0, 3) {
				m.Set("x", token, 5*time.Second)
			}
		}, nil, 5 * time.Second},
		{"three of five are down", func(w *world) {
			for _, m := range w.some(0, 2) {
				m.Set("x", token, 5*time.Second)
			}
			for _, m := range w.some(2, 5) {
				m.Crash()
			}
		}, redlock.ErrNoQuorum, 0},
		{"another kind's", func(w *world) {
			for _, m := range w.Masters() {
				m.Redis().HSet("x", token, token)
			}
		}, redlock.ErrHeld, 0},
		{"too short to be of use", func(w *world) {
			for _, m := range w.Masters() {
				m.Set("x", token, 2*time.Millisecond)
			}
		}, redlock.ErrLost, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 5, func(t *testing.T, w *world) {
				l := w.locker(t, "child")
				tt.setup(w)
				before := w.keys()
				asked := time.Now()
				lk, err := l.Attach(t.Context(), "x", token, redlock.WithoutKeepalive())
				if tt.want != nil {
					require.ErrorIs(t, err, tt.want)
					assert.NotContains(t, err.Error(), `inspect "x"`, "it says what it was asked for")
					assert.Nil(t, lk)
					synctest.Wait()
					assert.Equal(t, before, w.keys(), "unchanged")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, asked.Add(tt.left-drift), lk.Until())
				unlock(t, lk)
			})
		})
	}
}

func TestAttachCountsTheTTLFromBeforeItAsked(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		token := handOver(t, w)
		l := w.locker(t, "child")
		w.warm(t, l)
		for _, m := range w.Masters() {
			m.Delay(0, 0)
		}
		for i := range 3 {
			w.Host("child").To(i).Delay(100*time.Millisecond, 0)
		}
		_, err := l.Inspect(t.Context(), "x") // they know the script then
		require.NoError(t, err)
		asked := time.Now()
		ends := asked.Add(w.Master(0).TTL("x"))
		lk, err := l.Attach(t.Context(), "x", token)
		require.NoError(t, err)
		assert.Equal(t, 200*time.Millisecond, time.Since(asked))
		assert.True(t, lk.Until().Before(ends), "the lock never outlives its keys")
		unlock(t, lk)
	})
}

func TestAnAttachedLockIsReleasedOnMastersThatDidNotAnswer(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		token := handOver(t, w, redlock.WithTTL(ttl))
		l := w.locker(t, "child", redlock.WithTTL(time.Second), redlock.WithMaxTTL(time.Minute))
		w.warm(t, l)
		w.Master(0).Freeze()
		w.Master(1).Freeze()
		lk, err := l.Attach(t.Context(), "x", token, redlock.WithoutKeepalive())
		require.NoError(t, err)
		unlock(t, lk)
		time.Sleep(5 * time.Second)
		assert.Equal(t, 2, w.keys())
		w.Heal()
		time.Sleep(2 * time.Second)
		assert.Zero(t, w.keys(), "before their TTL")
	})
}

func TestInspectSaysWhoHoldsWhatNodeByNode(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		h, err := l.Inspect(t.Context(), "x")
		require.NoError(t, err)
		assert.Equal(t, "x", h.Name)
		assert.Empty(t, h.Kind)
		assert.Empty(t, h.Holders)
		require.Len(t, h.Nodes, 5)
		for i, n := range h.Nodes {
			assert.Equal(t, redlock.NodeHolding{Node: w.Addr(i)}, n)
		}

		lk := lock(t, l, "x", redlock.WithoutKeepalive())
		synctest.Wait()
		w.Master(0).Wipe()
		w.Master(1).Set("x", "foreign", 0)
		w.Master(2).Set("x", lk.Token(), 4*time.Second)
		h, err = l.Inspect(t.Context(), "x")
		require.NoError(t, err)
		assert.Equal(t, "mutex", h.Kind)
		assert.Equal(
			t, []redlock.Holder{{Token: lk.Token(), Votes: 3, Left: 4 * time.Second}}, h.Holders, "what a majority vouches for",
		)
		assert.Equal(t, redlock.NodeHolding{Node: w.Addr(0)}, h.Nodes[0])
		assert.Equal(t, "foreign", h.Nodes[1].Token)
		assert.Negative(t, h.Nodes[1].Left, "no TTL")
		assert.Equal(t, lk.Token(), h.Nodes[4].Token)
		assert.InDelta(t, float64(ttl), float64(h.Nodes[4].Left), float64(time.Second))

		w.Master(3).Crash()
		h, err = l.Inspect(t.Context(), "x")
		require.NoError(t, err)
		assert.Empty(t, h.Holders, "two of five are no majority, and one did not answer")
		assert.Empty(t, h.Kind)
		var one *redlock.NodeError
		require.ErrorAs(t, h.Nodes[3].Err, &one)
		assert.Equal(t, w.Addr(3), one.Node)
		assert.Equal(t, "inspect", one.Op)
		assert.Empty(t, h.Nodes[3].Token)

		w.Master(4).Crash()
		w.Master(0).Freeze()
		began := time.Now()
		h, err = l.Inspect(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.LessOrEqual(t, time.Since(began), timeout)
		require.Len(t, h.Nodes, 5, "with what the others said")
		assert.Equal(t, "foreign", h.Nodes[1].Token)
		require.Error(t, h.Nodes[0].Err)
		w.Heal()
		time.Sleep(time.Second)
		_ = lk.Unlock(t.Context())
	})
}

func TestInspectShowsAForeignKeyOfAnotherKind(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.Master(0).Redis().HSet("x", "f", "v")
		h, err := w.locker(t, "a").Inspect(t.Context(), "x")
		require.NoError(t, err)
		assert.Equal(t, "hash", h.Kind)
		require.Len(t, h.Holders, 1)
		assert.Negative(t, h.Holders[0].Left)
	})
}

func TestInspectChangesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		lk := lock(t, l, "x", redlock.WithoutKeepalive())
		synctest.Wait()
		time.Sleep(time.Second)
		left := w.Master(0).TTL("x")
		_, err := l.Inspect(t.Context(), "x")
		require.NoError(t, err)
		assert.Equal(t, left, w.Master(0).TTL("x"))
		unlock(t, lk)
	})
}

func TestNodesSaysWhoMayVoteAndWhyNot(t *testing.T) {
	t.Parallel()
	inWorld(t, 9, func(t *testing.T, w *world) {
		w.Master(1).Delay(5*time.Millisecond, 0)
		w.Master(2).Crash()
		w.Master(3).Info("role", "slave")
		w.Master(4).Info("uptime_in_seconds", "4")
		w.Master(5).Info("loading", "1")
		l := w.locker(t, "a")
		rows, err := l.Nodes(t.Context())
		require.NoError(t, err)
		require.Len(t, rows, 9)
		for i, row := range rows {
			assert.Equal(t, w.Addr(i), row.Node)
			assert.Equal(t, i != 2, row.Reachable)
			assert.Equal(t, i < 2 || i > 5, row.MayVote)
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

		w.Master(6).Crash()
		rows, err = l.Nodes(t.Context())
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.ErrorContains(t, err, "4 of 9")
		require.Len(t, rows, 9)
		assert.False(t, rows[6].Reachable)
	})
}

func TestNodesHidesPasswordsAndReportsDuplicates(t *testing.T) {
	t.Parallel()
	inWorld(t, 2, func(t *testing.T, w *world) {
		w.Alias("10.9.9.9:6379", 1)
		for _, m := range w.Masters() {
			m.RequirePassword("secret")
		}
		urls := append(w.passwords(), "redis://:secret@10.9.9.9")
		rows, err := w.over(t, "a", w.nodes(t, "a", urls...)).Nodes(t.Context())
		require.NoError(t, err)
		duplicates := 0
		for _, row := range rows {
			assert.NotContains(t, row.Node, "secret")
			if row.Err != nil {
				duplicates++
				assert.ErrorContains(t, row.Err, "same server")
				assert.False(t, row.MayVote)
			}
		}
		assert.Equal(t, 1, duplicates)

		wrong := w.over(t, "b", w.nodes(t, "b", strings.ReplaceAll(urls[0], "secret", "hidden")))
		rows, err = wrong.Nodes(t.Context())
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		assert.ErrorContains(t, rows[0].Err, "WRONGPASS")
		assert.NotContains(t, rows[0].Err.Error(), "hidden")
	})
}

func TestNodesWithoutTheGuard(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(t *testing.T, w *world) {
		w.Master(0).Restart()
		rows, err := w.locker(t, "a", redlock.WithoutRestartGuard()).Nodes(t.Context())
		require.NoError(t, err)
		assert.True(t, rows[0].MayVote)
	})
}

func TestACanceledInspectReturnsTheContextsError(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		for _, m := range w.Masters() {
			m.Freeze()
		}
		_, err := l.Nodes(within(t, 10*time.Millisecond))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = l.Inspect(within(t, 10*time.Millisecond), "x")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		_, err = l.Attach(within(t, 10*time.Millisecond), "x", "token")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		w.Heal()
		time.Sleep(time.Second)
	})
}
