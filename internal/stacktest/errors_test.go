package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
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

func (s fixture) close(lk *redlock.Lock) *redlock.Lock {
	s.Helper()
	require.NoError(s, s.ours.Close())
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

const gone = "a majority of the masters no longer holds the token"

// The text of every error of every method, and what it matches.
var texts = []struct {
	what string
	text string
	is   []error
	make func(s fixture) error
}{
	{"Open, no masters", `redlock: no masters: give one, or an odd number of at least three`, nil, func(fixture) error {
		return errorOf(redlock.Open(nil))
	}},
	{
		"Open, several invalid options",
		`redlock: node timeout -1s: it must be above 0; owner "": it must not be empty or contain control characters`,
		nil, func(fixture) error {
			return errorOf(redlock.Open([]string{"redis://h"}, redlock.WithNodeTimeout(-time.Second), redlock.WithOwner("")))
		},
	},
	{"Open, an invalid TTL", `redlock: TTL -1s: it must be at least a millisecond`, nil, func(fixture) error {
		return errorOf(redlock.Open([]string{"redis://h"}, redlock.WithTTL(-time.Second)))
	}},

	{"Lock, an empty name", `redlock: lock "": the lock's name is empty`, nil, func(s fixture) error {
		return errorOf(s.ours.Lock(s.Context(), ""))
	}},
	{
		"Lock, an invalid option",
		`redlock: lock "x": TTL -1s: it must be at least a millisecond`,
		nil, func(s fixture) error {
			return errorOf(s.ours.Lock(s.Context(), "x", redlock.WithTTL(-time.Second)))
		},
	},
	{"Lock, closed", `redlock: lock "x": the locker is closed`, []error{redlock.ErrClosed}, func(s fixture) error {
		s.close(nil)
		return errorOf(s.ours.Lock(s.Context(), "x"))
	}},
	{
		"Lock, closed while it waits",
		`redlock: lock "x": the locker is closed`,
		[]error{redlock.ErrClosed},
		func(s fixture) error {
			lock(s.T, s.other, "x")
			out := locking(s.Context(), s.ours, "x")
			s.close(nil)
			return ended(s.T, out, time.Second).err
		},
	},
	{
		"Lock, ctx ended before",
		`redlock: lock "x": not asked: context canceled`,
		[]error{context.Canceled},
		func(s fixture) error {
			return errorOf(s.ours.Lock(s.ended(), "x"))
		},
	},
	{
		"Lock, held",
		`redlock: lock "x": gave up after 2s: context deadline exceeded: held by another (mutex, "b") for up to 9s`,
		[]error{redlock.ErrHeld, context.DeadlineExceeded},
		func(s fixture) error {
			lock(s.T, s.other, "x", redlock.WithoutKeepalive())
			return errorOf(s.ours.Lock(within(s.T, 2*time.Second), "x"))
		},
	},
	{
		"Lock, no majority",
		`redlock: lock "x": gave up after 2s: context deadline exceeded: no majority of the masters answered: ` +
			`10.0.0.1:6379, 10.0.0.3:6379: OOM command not allowed`,
		[]error{redlock.ErrNoQuorum, context.DeadlineExceeded},
		func(s fixture) error {
			for _, i := range []int{0, 2} {
				s.w.Master(i).Reply("OOM command not allowed", "SET")
			}
			return errorOf(s.ours.Lock(within(s.T, 2*time.Second), "x"))
		},
	},
	{"TryLock, held", `redlock: lock "x": held by another`, []error{redlock.ErrHeld}, func(s fixture) error {
		lock(s.T, s.other, "x")
		return errorOf(s.ours.TryLock(s.Context(), "x"))
	}},
	{
		"TryLock, held by this Locker",
		`redlock: lock "x": held by another (mutex, "a")`,
		[]error{redlock.ErrHeld},
		func(s fixture) error {
			s.lock()
			return errorOf(s.ours.TryLock(s.Context(), "x"))
		},
	},
	{
		"TryLock, frozen masters",
		`redlock: lock "x": no majority of the masters answered: 10.0.0.2:6379, 10.0.0.3:6379: no answer in time`,
		[]error{redlock.ErrNoQuorum, node.ErrTimeout},
		func(s fixture) error {
			s.freeze(1, 2)
			return errorOf(s.ours.TryLock(s.Context(), "x"))
		},
	},
	{
		"TryLock, masters that are down",
		`redlock: lock "x": no majority of the masters answered: 10.0.0.1:6379, 10.0.0.2:6379: not asked, it ` +
			`failed a moment ago: ` +
			`connecting: dial tcp: connect: connection refused`,
		[]error{redlock.ErrNoQuorum},
		func(s fixture) error {
			s.w.Master(0).Crash()
			s.w.Master(1).Crash()
			require.Error(s, errorOf(s.ours.TryLock(s.Context(), "x"))) // which finds the connections broken
			time.Sleep(2 * time.Second)
			return errorOf(s.ours.TryLock(s.Context(), "x"))
		},
	},
	{
		"TryLock, masters that cannot be connected to",
		`redlock: lock "x": no majority of the masters answered: 10.0.0.1:6379, 10.0.0.2:6379: not asked, it ` +
			`failed a moment ago: ` +
			`connecting: no answer in time`,
		[]error{redlock.ErrNoQuorum, node.ErrTimeout},
		func(s fixture) error { // not DeadlineExceeded: that is ctx's
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
	},
	{
		"TryLock, each master with a reason of its own",
		`redlock: lock "x": no majority of the masters answered: 10.0.0.1:6379: OOM command not allowed; ` +
			`10.0.0.2:6379: LOADING Redis is loading the dataset in memory`,
		[]error{redlock.ErrNoQuorum},
		func(s fixture) error {
			s.w.Master(0).Reply("OOM command not allowed", "SET")
			s.w.Master(1).Reply("LOADING Redis is loading the dataset in memory", "SET")
			return errorOf(s.ours.TryLock(s.Context(), "x"))
		},
	},
	{"LockAll, no names", `redlock: lock: the list of names is empty`, nil, func(s fixture) error {
		return errorOf(s.ours.LockAll(s.Context(), nil))
	}},
	{
		"TryLockAll, held",
		`redlock: lock "x": held by another (mutex) for up to 10s`,
		[]error{redlock.ErrHeld},
		func(s fixture) error {
			lock(s.T, s.other, "x")
			return errorOf(s.ours.TryLockAll(s.Context(), []string{"x", "y"}))
		},
	},
	{
		"LockAll, held",
		`redlock: lock "w", "x", "y": gave up after 2s: context deadline exceeded: "x" is held by another (mutex, "b") ` +
			`for up to 9s`,
		[]error{redlock.ErrHeld, context.DeadlineExceeded},
		func(s fixture) error {
			lock(s.T, s.other, "x", redlock.WithoutKeepalive())
			return errorOf(s.ours.LockAll(within(s.T, 2*time.Second), []string{"y", "x", "w"}))
		},
	},
	{
		"TryLockAll of many names, no majority",
		`redlock: lock "orders:000000", "orders:000001", "orders:000002" and 253 more: no majority of the ` +
			`masters answered: ` +
			`10.0.0.1:6379, 10.0.0.2:6379: no answer in time`,
		[]error{redlock.ErrNoQuorum, node.ErrTimeout},
		func(s fixture) error {
			s.freeze(0, 1)
			return errorOf(s.ours.TryLockAll(s.Context(), manyNames(256)))
		},
	},
	{
		"RW.TryRLock, held",
		`redlock: lock "x": held by another (writer) for up to 10s`,
		[]error{redlock.ErrHeld},
		func(s fixture) error {
			require.NoError(s, errorOf(s.other.RW("x").TryLock(s.Context())))
			return errorOf(s.ours.RW("x").TryRLock(s.Context()))
		},
	},
	{
		"RW.TryLock, held",
		`redlock: lock "x": held by another (reader) for up to 10s`,
		[]error{redlock.ErrHeld},
		func(s fixture) error {
			require.NoError(s, errorOf(s.other.RW("x").TryRLock(s.Context())))
			return errorOf(s.ours.RW("x").TryLock(s.Context()))
		},
	},
	{
		"Reentrant.TryLock, held",
		`redlock: lock "x": held by another (reentrant) for up to 10s`,
		[]error{redlock.ErrHeld},
		func(s fixture) error {
			require.NoError(s, errorOf(s.other.Reentrant("x", "them").TryLock(s.Context())))
			return errorOf(s.ours.Reentrant("x", "us").TryLock(s.Context()))
		},
	},
	{
		"Reentrant.Lock, no owner",
		`redlock: lock "x": the owner is empty: give all callers that may share the lock one name`,
		nil, func(s fixture) error {
			return errorOf(s.ours.Reentrant("x", "").Lock(s.Context()))
		},
	},

	{
		"Lock, a long name",
		`redlock: lock "` + strings.Repeat("x", 48) + `…" (5000 bytes): the name has 5000 bytes: it may have ` +
			`at most 4096`,
		nil, func(s fixture) error { return errorOf(s.ours.Lock(s.Context(), strings.Repeat("x", 5000))) },
	},
	{
		"Lock, a reserved name",
		`redlock: lock "redlock:fence:x": the name is taken: those that begin with redlock:fence: or ` +
			`redlock:intents: are for the keys of locks`,
		nil, func(s fixture) error { return errorOf(s.ours.Lock(s.Context(), "redlock:fence:x")) },
	},
	{
		"LockAll, too many names",
		`redlock: lock "orders:000000", "orders:000001", "orders:000002" and 254 more: 257 names: one lock may ` +
			`have at most 256`,
		nil, func(s fixture) error { return errorOf(s.ours.LockAll(s.Context(), manyNames(257))) },
	},
	{
		"LockAll, a long name", `redlock: lock "x", "` + strings.Repeat("y", 48) + `…" (5000 bytes): the name ` +
			`"` + strings.Repeat("y", 48) +
			`…" has 5000 bytes: it may have at most 4096`,
		nil, func(s fixture) error {
			return errorOf(s.ours.LockAll(s.Context(), []string{strings.Repeat("y", 5000), "x"}))
		},
	},
	{
		"Lock, a clock that is wrong by centuries",
		`redlock: lock "x": the clock of this machine shows 2260-01-01T00:00:00Z, and fencing tokens can be ` +
			`taken from 1970 to 2255 only: ` +
			`set the clock, or lock without WithFencing`,
		nil, func(s fixture) error {
			time.Sleep(time.Until(time.Date(2260, 1, 1, 0, 0, 0, 0, time.UTC)))
			return errorOf(s.ours.Lock(s.Context(), "x", redlock.WithFencing()))
		},
	},

	{
		"Do, no function",
		`redlock: do "x": fn is nil: pass the function to call under the lock`,
		nil, func(s fixture) error {
			return s.ours.Do(s.Context(), "x", nil)
		},
	},
	{
		"DoAll, no function",
		`redlock: do "x", "y": fn is nil: pass the function to call under the lock`,
		nil, func(s fixture) error {
			return s.ours.DoAll(s.Context(), []string{"y", "x"}, nil)
		},
	},
	{"Do, lost", `redlock: unlock "x": the lock was lost: ` + gone, []error{redlock.ErrLost}, func(s fixture) error {
		return s.ours.Do(s.Context(), "x", func(ctx context.Context) error {
			s.w.wipe()
			<-ctx.Done()
			return nil
		})
	}},
	{
		"Do, lost, and fn says so", `redlock: lock "x": the lock was lost: ` + gone,
		[]error{redlock.ErrLost},
		func(s fixture) error {
			return s.ours.Do(s.Context(), "x", func(ctx context.Context) error {
				s.w.wipe()
				<-ctx.Done()
				return context.Cause(ctx)
			})
		},
	},

	{"Err, released", `redlock: lock "x": the lock was released`, []error{redlock.ErrReleased}, func(s fixture) error {
		lk := s.lock()
		unlock(s.T, lk)
		return lk.Err()
	}},
	{
		"Err, expired",
		`redlock: lock "x": the lock was lost: its TTL of 10s ended and it was not extended`,
		[]error{redlock.ErrLost},
		func(s fixture) error {
			lk := s.lock()
			time.Sleep(ttl)
			return lk.Err()
		},
	},
	{
		"Err, held for its maximum",
		`redlock: lock "x": the lock was lost: it was held for its maximum of 2s (WithMaxHold)`,
		[]error{redlock.ErrLost},
		func(s fixture) error {
			lk := lock(s.T, s.ours, "x", redlock.WithMaxHold(2*time.Second))
			time.Sleep(2 * time.Second)
			return lk.Err()
		},
	},
	{
		"Cause, the masters forgot it", `redlock: lock "x": the lock was lost: ` + gone,
		[]error{redlock.ErrLost},
		func(s fixture) error {
			lk := lock(s.T, s.ours, "x")
			s.w.wipe()
			<-lk.Context().Done()
			return context.Cause(lk.Context())
		},
	},
	{"Err, closed", `redlock: lock "x": the locker is closed`, []error{redlock.ErrClosed}, func(s fixture) error {
		return s.close(s.lock()).Err()
	}},

	{
		"Extend, released",
		`redlock: extend "x": the lock was released`,
		[]error{redlock.ErrReleased},
		func(s fixture) error {
			lk := s.lock()
			unlock(s.T, lk)
			return lk.Extend(s.Context())
		},
	},
	{
		"Extend, expired",
		`redlock: extend "x": the lock was lost: its TTL of 10s ended and it was not extended`,
		[]error{redlock.ErrLost},
		func(s fixture) error {
			lk := s.lock()
			time.Sleep(ttl)
			return lk.Extend(s.Context())
		},
	},
	{
		"Extend, the masters forgot it", `redlock: extend "x": the lock was lost: ` + gone,
		[]error{redlock.ErrLost},
		func(s fixture) error {
			lk := s.lock()
			s.w.wipe()
			return lk.Extend(s.Context())
		},
	},
	{"Extend, closed", `redlock: extend "x": the locker is closed`, []error{redlock.ErrClosed}, func(s fixture) error {
		return s.close(s.lock()).Extend(s.Context())
	}},
	{
		"Extend, ctx ended before",
		`redlock: extend "x": not asked: context canceled`,
		[]error{context.Canceled},
		func(s fixture) error {
			return s.lock().Extend(s.ended())
		},
	},
	{
		"Extend, ctx ended meanwhile",
		`redlock: extend "x": context deadline exceeded`,
		[]error{context.DeadlineExceeded},
		func(s fixture) error {
			lk := s.lock()
			s.freeze(0, 1)
			return lk.Extend(within(s.T, time.Millisecond))
		},
	},
	{
		"Extend, no majority",
		`redlock: extend "x": no majority of the masters answered: 10.0.0.1:6379, 10.0.0.2:6379: no answer in time`,
		[]error{redlock.ErrNoQuorum, node.ErrTimeout},
		func(s fixture) error {
			lk := s.lock()
			s.freeze(0, 1)
			return lk.Extend(s.Context())
		},
	},

	{
		"Unlock, released",
		`redlock: unlock "x": the lock was released: Unlock was called before`,
		[]error{redlock.ErrReleased},
		func(s fixture) error {
			lk := s.lock()
			unlock(s.T, lk)
			return lk.Unlock(s.Context())
		},
	},
	{
		"Unlock, expired",
		`redlock: unlock "x": the lock was lost: its TTL of 10s ended and it was not extended`,
		[]error{redlock.ErrLost},
		func(s fixture) error {
			lk := s.lock()
			time.Sleep(ttl)
			return lk.Unlock(s.Context())
		},
	},
	{
		"Unlock, the masters forgot it", `redlock: unlock "x": the lock was lost: ` + gone,
		[]error{redlock.ErrLost},
		func(s fixture) error {
			lk := s.lock()
			s.w.wipe()
			return lk.Unlock(s.Context())
		},
	},
	{"Unlock, closed", `redlock: unlock "x": the locker is closed`, []error{redlock.ErrClosed}, func(s fixture) error {
		return s.close(s.lock()).Unlock(s.Context())
	}},
	{
		"Unlock, no majority",
		`redlock: unlock "x": the release continues in the background: no majority of the masters answered: ` +
			`10.0.0.1:6379, 10.0.0.2:6379: no answer in time`,
		[]error{redlock.ErrNoQuorum, node.ErrTimeout},
		func(s fixture) error {
			lk := s.lock()
			s.freeze(0, 1)
			return lk.Unlock(s.Context())
		},
	},

	{"Inspect, an empty name", `redlock: inspect "": the lock's name is empty`, nil, func(s fixture) error {
		return errorOf(s.ours.Inspect(s.Context(), ""))
	}},
	{"Inspect, closed", `redlock: inspect "x": the locker is closed`, []error{redlock.ErrClosed}, func(s fixture) error {
		s.close(nil)
		return errorOf(s.ours.Inspect(s.Context(), "x"))
	}},
	{
		"Inspect, ctx ended before",
		`redlock: inspect "x": context canceled`,
		[]error{context.Canceled},
		func(s fixture) error {
			return errorOf(s.ours.Inspect(s.ended(), "x"))
		},
	},
	{
		"Inspect, no majority",
		`redlock: inspect "x": no majority of the masters answered: 10.0.0.1:6379, 10.0.0.2:6379: no answer in time`,
		[]error{redlock.ErrNoQuorum, node.ErrTimeout},
		func(s fixture) error {
			s.freeze(0, 1)
			return errorOf(s.ours.Inspect(s.Context(), "x"))
		},
	},

	{"Nodes, closed", `redlock: status: the locker is closed`, []error{redlock.ErrClosed}, func(s fixture) error {
		s.close(nil)
		return errorOf(s.ours.Nodes(s.Context()))
	}},
	{"Nodes, ctx ended before", `redlock: status: context canceled`, []error{context.Canceled}, func(s fixture) error {
		return errorOf(s.ours.Nodes(s.ended()))
	}},
	{
		"Nodes, no majority",
		`redlock: status: no majority of the masters answered: 1 of 3 masters may vote: 10.0.0.1:6379: not ` +
			`asked, it failed a moment ago: ` +
			`no answer in time; 10.0.0.2:6379: restarted a moment ago and may have forgotten locks: it may vote in 11s`,
		[]error{redlock.ErrNoQuorum, node.ErrTimeout},
		func(s fixture) error {
			s.freeze(0)
			s.w.Master(1).Restart()
			return errorOf(s.ours.Nodes(s.Context()))
		},
	},
}

func TestTheTextOfEveryError(t *testing.T) {
	t.Parallel()
	for _, tt := range texts {
		t.Run(tt.what, func(t *testing.T) {
			t.Parallel()
			withFixture(t, func(s fixture) {
				err := tt.make(s)
				require.Error(t, err)
				text := strings.ReplaceAll(rounded(err.Error()), "Connection refused", "connection refused") // wasip1
				assert.Equal(t, tt.text, text)
				wellFormed(t, err)
				for _, is := range tt.is {
					require.ErrorIs(t, err, is)
				}
				for _, other := range []error{
					redlock.ErrHeld, redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrReleased, redlock.ErrClosed,
					context.Canceled, context.DeadlineExceeded, node.ErrTimeout,
				} {
					assert.Equal(t, slices.Contains(tt.is, other), errors.Is(err, other), "%v", other)
				}
				var held *redlock.HeldError
				assert.Equal(t, errors.Is(err, redlock.ErrHeld), errors.As(err, &held))
				assert.Equal(t, errors.Is(err, redlock.ErrNoQuorum), redlock.NodeErrors(err) != nil)
			})
		})
	}
}

// Whatever is wrong with the masters, and with all five of them.
func TestTheTextOfEveryTrouble(t *testing.T) {
	t.Parallel()
	for _, tt := range troubles {
		for _, f := range failing {
			t.Run(f.name+", "+tt.name, func(t *testing.T) {
				t.Parallel()
				inWorld(t, 5, func(t *testing.T, w *world) {
					for _, m := range w.Masters() {
						m.RequirePassword("secret")
					}
					l := w.over(t, "a", w.nodes(t, "a", w.passwords()...))
					w.warm(t, l)
					err := f.fail(t, w, l, func() {
						for i := range w.Masters() {
							tt.make(w, i)
						}
					})
					if err == nil {
						return // it does not hinder this operation
					}
					wellFormed(t, err)
					require.NotContains(t, err.Error(), "secret")
					if errors.Is(err, redlock.ErrNoQuorum) {
						for i := range w.Masters() {
							assert.LessOrEqual(t, strings.Count(err.Error(), w.Addr(i)), 1, err)
						}
					}
					w.Heal()
				})
			})
		}
	}
}

func withFixture(t *testing.T, f func(s fixture)) {
	t.Helper()
	inWorld(t, 3, func(t *testing.T, w *world) {
		s := fixture{t, w, w.locker(t, "a"), w.locker(t, "b")}
		for _, l := range []*redlock.Locker{s.ours, s.other} {
			w.warm(t, l)
		}
		f(s)
		for _, m := range w.Masters() {
			m.Heal()
		}
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
