package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// fixture is what a row of the table makes its error with: three masters, a Locker, and another one that may hold
// locks.
type fixture struct {
	*testing.T
	w           *world
	ours, other *redlock.Locker
}

func (s fixture) freeze(masters ...int) {
	for _, i := range masters {
		s.w.Master(i).Freeze()
	}
}

func (s fixture) ended() context.Context {
	ctx, cancel := context.WithCancel(s.Context())
	cancel()
	return ctx
}

// lock is a lock that nothing keeps alive.
func (s fixture) lock() *redlock.Lock {
	s.Helper()
	lk := lock(s.T, s.ours, "x", redlock.WithoutKeepalive())
	synctest.Wait()
	return lk
}

func errorOf[A any](_ A, err error) error { return err }

func manyNames(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("orders:%06d", i)
	}
	return all
}

// texts make the other errors of every method. The text of each and what it matches are in testdata/errors.txt.
var texts = map[string]func(s fixture) error{
	"Open, no masters": func(fixture) error {
		return errorOf(redlock.Open(nil))
	},
	"Open, several invalid options": func(fixture) error {
		return errorOf(redlock.Open([]string{"redis://h"}, redlock.WithNodeTimeout(-time.Second), redlock.WithOwner("")))
	},
	"Open, an invalid TTL": func(fixture) error {
		return errorOf(redlock.Open([]string{"redis://h"}, redlock.WithTTL(-time.Second)))
	},

	"Lock, an empty name": func(s fixture) error {
		return errorOf(s.ours.Lock(s.Context(), ""))
	},
	"Lock, an invalid option": func(s fixture) error {
		return errorOf(s.ours.Lock(s.Context(), "x", redlock.WithTTL(-time.Second)))
	},
	"Lock, closed while it waits": func(s fixture) error {
		lock(s.T, s.other, "x")
		out := locking(s.Context(), s.ours, "x")
		require.NoError(s, s.ours.Close())
		return ended(s.T, out, time.Second).err
	},
	"Lock, held": func(s fixture) error {
		lock(s.T, s.other, "x", redlock.WithoutKeepalive())
		return errorOf(s.ours.Lock(within(s.T, 2*time.Second), "x"))
	},
	"Lock, no majority": func(s fixture) error {
		for _, i := range []int{0, 2} {
			s.w.Master(i).Reply("OOM command not allowed", "SET")
		}
		return errorOf(s.ours.Lock(within(s.T, 2*time.Second), "x"))
	},
	"TryLock, held": func(s fixture) error {
		lock(s.T, s.other, "x")
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLock, held by this Locker": func(s fixture) error {
		s.lock()
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLock, frozen masters": func(s fixture) error {
		s.freeze(1, 2)
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLock, masters that are down": func(s fixture) error {
		s.w.Master(0).Crash()
		s.w.Master(1).Crash()
		require.Error(s, errorOf(s.ours.TryLock(s.Context(), "x"))) // which finds the connections broken
		time.Sleep(2 * time.Second)
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"TryLock, masters that cannot be connected to": func(s fixture) error { // not DeadlineExceeded: that is ctx's
		s.w.Master(0).BlackHole()
		s.w.Master(1).BlackHole()
		l := s.w.locker(s.T, "c")
		err := errorOf(l.TryLock(s.Context(), "x"))
		for range 100 { // until the first connections are given up
			if strings.Contains(err.Error(), "10.0.0.1:6379, 10.0.0.2:6379: not asked, it failed a moment ago: conn") {
				break
			}
			time.Sleep(100 * time.Millisecond)
			err = errorOf(l.TryLock(s.Context(), "x"))
		}
		return err
	},
	"TryLock, each master with a reason of its own": func(s fixture) error {
		s.w.Master(0).Reply("OOM command not allowed", "SET")
		s.w.Master(1).Reply("LOADING Redis is loading the dataset in memory", "SET")
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	},
	"LockAll, no names": func(s fixture) error {
		return errorOf(s.ours.LockAll(s.Context(), nil))
	},
	"TryLockAll, held": func(s fixture) error {
		lock(s.T, s.other, "x")
		return errorOf(s.ours.TryLockAll(s.Context(), []string{"x", "y"}))
	},
	"LockAll, held": func(s fixture) error {
		lock(s.T, s.other, "x", redlock.WithoutKeepalive())
		return errorOf(s.ours.LockAll(within(s.T, 2*time.Second), []string{"y", "x", "w"}))
	},
	"TryLockAll of many names, no majority": func(s fixture) error {
		s.freeze(0, 1)
		return errorOf(s.ours.TryLockAll(s.Context(), manyNames(256)))
	},
	"RW.TryRLock, held": func(s fixture) error {
		require.NoError(s, errorOf(s.other.RW("x").TryLock(s.Context())))
		return errorOf(s.ours.RW("x").TryRLock(s.Context()))
	},
	"RW.TryLock, held": func(s fixture) error {
		require.NoError(s, errorOf(s.other.RW("x").TryRLock(s.Context())))
		return errorOf(s.ours.RW("x").TryLock(s.Context()))
	},
	"Reentrant.TryLock, held": func(s fixture) error {
		require.NoError(s, errorOf(s.other.Reentrant("x", "them").TryLock(s.Context())))
		return errorOf(s.ours.Reentrant("x", "us").TryLock(s.Context()))
	},
	"Reentrant.Lock, no owner": func(s fixture) error {
		return errorOf(s.ours.Reentrant("x", "").Lock(s.Context()))
	},

	"Lock, a long name": func(s fixture) error {
		return errorOf(s.ours.Lock(s.Context(), strings.Repeat("x", 5000)))
	},
	"Lock, a reserved name":   func(s fixture) error { return errorOf(s.ours.Lock(s.Context(), "redlock:fence:x")) },
	"LockAll, too many names": func(s fixture) error { return errorOf(s.ours.LockAll(s.Context(), manyNames(257))) },
	"LockAll, a long name": func(s fixture) error {
		return errorOf(s.ours.LockAll(s.Context(), []string{strings.Repeat("y", 5000), "x"}))
	},
	"Lock, a clock that is wrong by centuries": func(s fixture) error {
		time.Sleep(time.Until(time.Date(2260, 1, 1, 0, 0, 0, 0, time.UTC)))
		return errorOf(s.ours.Lock(s.Context(), "x", redlock.WithFencing()))
	},

	"Do, no function": func(s fixture) error {
		return s.ours.Do(s.Context(), "x", nil)
	},
	"DoAll, no function": func(s fixture) error {
		return s.ours.DoAll(s.Context(), []string{"y", "x"}, nil)
	},
	"Do, lost": func(s fixture) error {
		return s.ours.Do(s.Context(), "x", func(ctx context.Context) error {
			s.w.wipe()
			<-ctx.Done()
			return nil
		})
	},
	"Do, lost, and fn says so": func(s fixture) error {
		return s.ours.Do(s.Context(), "x", func(ctx context.Context) error {
			s.w.wipe()
			<-ctx.Done()
			return context.Cause(ctx)
		})
	},

	"Err, held for its maximum": func(s fixture) error {
		lk := lock(s.T, s.ours, "x", redlock.WithMaxHold(2*time.Second))
		time.Sleep(2 * time.Second)
		return lk.Err()
	},
	"Cause, the masters forgot it": func(s fixture) error {
		lk := lock(s.T, s.ours, "x")
		s.w.wipe()
		<-lk.Context().Done()
		return context.Cause(lk.Context())
	},

	"Extend, ctx ended before": func(s fixture) error {
		return s.lock().Extend(s.ended())
	},
	"Extend, ctx ended meanwhile": func(s fixture) error {
		lk := s.lock()
		s.freeze(0, 1)
		return lk.Extend(within(s.T, time.Millisecond))
	},
	"Inspect, an empty name": func(s fixture) error {
		return errorOf(s.ours.Inspect(s.Context(), ""))
	},
	"Nodes, no majority": func(s fixture) error {
		s.freeze(0)
		s.w.Master(1).Restart()
		return errorOf(s.ours.Nodes(s.Context()))
	},
}

// textsAfter make the errors of calls after something happened to a lock, to its Locker or to the context of the call.
func textsAfter() map[string]func(s fixture) error {
	calls := map[string]func(ctx context.Context, l *redlock.Locker, lk *redlock.Lock) error{
		"Err":    func(_ context.Context, _ *redlock.Locker, lk *redlock.Lock) error { return lk.Err() },
		"Extend": func(ctx context.Context, _ *redlock.Locker, lk *redlock.Lock) error { return lk.Extend(ctx) },
		"Unlock": func(ctx context.Context, _ *redlock.Locker, lk *redlock.Lock) error { return lk.Unlock(ctx) },
		"Lock":   func(ctx context.Context, l *redlock.Locker, _ *redlock.Lock) error { return errorOf(l.Lock(ctx, "x")) },
		"Inspect": func(ctx context.Context, l *redlock.Locker, _ *redlock.Lock) error {
			return errorOf(l.Inspect(ctx, "x"))
		},
		"Nodes": func(ctx context.Context, l *redlock.Locker, _ *redlock.Lock) error { return errorOf(l.Nodes(ctx)) },
	}
	all := make(map[string]func(s fixture) error)
	for what, tt := range map[string]struct {
		happens func(s fixture, lk *redlock.Lock)
		calls   string
	}{
		"released":              {func(s fixture, lk *redlock.Lock) { unlock(s.T, lk) }, "Err Extend Unlock"},
		"expired":               {func(fixture, *redlock.Lock) { time.Sleep(ttl) }, "Err Extend Unlock"},
		"the masters forgot it": {func(s fixture, _ *redlock.Lock) { s.w.wipe() }, "Extend Unlock"},
		"no majority":           {func(s fixture, _ *redlock.Lock) { s.freeze(0, 1) }, "Extend Unlock Inspect"},
		"ctx ended before":      {func(fixture, *redlock.Lock) {}, "Extend Lock Inspect Nodes"},
		"closed": {
			func(s fixture, _ *redlock.Lock) { require.NoError(s, s.ours.Close()) }, "Err Extend Unlock Lock Inspect Nodes",
		},
	} {
		for call := range strings.FieldsSeq(tt.calls) {
			all[call+", "+what] = func(s fixture) error {
				lk, ctx := s.lock(), s.Context()
				tt.happens(s, lk)
				if what == "ctx ended before" {
					ctx = s.ended()
				}
				return calls[call](ctx, s.ours, lk)
			}
		}
	}
	return all
}

func TestTheTextOfEveryError(t *testing.T) {
	t.Parallel()
	want, all := sections(t, "testdata/errors.txt"), textsAfter()
	maps.Copy(all, texts)
	require.Len(t, want, len(all))
	for what, fail := range all {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			withFixture(t, func(s fixture) {
				err := fail(s)
				require.Error(t, err)
				text := strings.ReplaceAll(rounded(err.Error()), "Connection refused", "connection refused") // wasip1
				is := matched(err)
				if errors.Is(err, node.ErrTimeout) {
					is += "+timeout"
				}
				assert.Equal(t, want[what], text+"\n"+is)
				wellFormed(t, err)
				var held *redlock.HeldError
				assert.Equal(t, errors.Is(err, redlock.ErrHeld), errors.As(err, &held))
				assert.Equal(t, errors.Is(err, redlock.ErrNoQuorum), redlock.NodeErrors(err) != nil)
			})
		})
	}
}

// Whatever is wrong with a majority of the masters: the error of each operation names these masters, what they were
// asked, and why.
func TestTheTextOfEveryTrouble(t *testing.T) {
	t.Parallel()
	down := []int{1, 3, 4}
	for _, tt := range troubles {
		for _, f := range failing {
			subWorld(t, f.name+", "+tt.name, 5, func(t *testing.T, w *world) {
				each(w.Masters(), func(m *simnet.Master) { m.RequirePassword("secret") })
				l := w.over(t, "a", w.nodes(t, "a", w.passwords()...))
				w.warm(t, l)
				err := f.fail(within(t, time.Minute), l, func() {
					for _, i := range down {
						tt.make(w, i)
					}
				})
				if tt.name == "frozen" {
					require.ErrorIs(t, err, redlock.ErrNoQuorum)
					require.ErrorIs(t, err, node.ErrTimeout)
				}
				if err == nil {
					return // it does not hinder this operation
				}
				wellFormed(t, err)
				require.NotContains(t, err.Error(), "secret")
				if errors.Is(err, redlock.ErrNoQuorum) {
					for _, is := range []error{redlock.ErrHeld, redlock.ErrLost, redlock.ErrReleased, redlock.ErrClosed} {
						require.NotErrorIs(t, err, is)
					}
					found := redlock.NodeErrors(err)
					require.Len(t, found, len(down), err)
					for i, failed := range found {
						assert.Equal(t, w.Addr(down[i]), failed.Node)
						assert.Equal(t, f.op, failed.Op)
						require.ErrorIs(t, err, failed)
						assert.LessOrEqual(t, strings.Count(err.Error(), failed.Node), 1, err)
					}
				}
				w.Heal()
			})
		}
	}
}

func withFixture(t *testing.T, f func(s fixture)) {
	t.Helper()
	bubble(t, 3, func(t *testing.T, w *world) {
		s := fixture{t, w, w.locker(t, "a"), w.locker(t, "b")}
		for _, l := range []*redlock.Locker{s.ours, s.other} {
			w.warm(t, l)
		}
		f(s)
		each(w.Masters(), (*simnet.Master).Heal)
	})
}

// wellFormed asserts what holds for the text of every error.
func wellFormed(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	assert.True(t, strings.HasPrefix(text, "redlock: "), text)
	assert.Equal(t, 1, strings.Count(text, "redlock: "), text)
	assert.NotContains(t, text, "\n")
	assert.NotContains(t, text, "%!")
	assert.Less(t, len(text), 2000, text)
	words := strings.Fields(text)
	for i := 1; i < len(words); i++ {
		assert.NotEqual(t, words[i-1], words[i], text)
	}
	parts := strings.Split(text, ": ")
	slices.Sort(parts)
	assert.Len(t, slices.Compact(parts), strings.Count(text, ": ")+1, text)
}

// rounded is a text with every duration rounded up to a second.
func rounded(text string) string {
	return regexp.MustCompile(`\d+(\.\d+)?m?s\b`).ReplaceAllStringFunc(text, func(s string) string {
		d, err := time.ParseDuration(s)
		if err != nil {
			return s
		}
		return fmt.Sprint((d + time.Second - 1).Truncate(time.Second))
	})
}
