package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// suspend suspends a host for d: its clock stands still, and time passes for the other hosts.
func (w *world) suspend(host string, d time.Duration) {
	w.Host(host).Suspend()
	time.Sleep(d)
	w.Host(host).Resume()
}

// The process was paused, or the machine suspended, until after the end of the lock. What the process asks first
// reports the loss, although no timer has run.
func TestALockThatEndedDuringASuspensionIsLost(t *testing.T) {
	t.Parallel()
	suspended := func(w *world) {
		w.Host("a").Suspend()
		each(w.Masters(), func(m *simnet.Master) { m.Redis().SetTTL("x", time.Hour) }) // no master says that it is lost
		time.Sleep(ttl)
		w.Host("a").Resume()
	}
	for name, ask := range map[string]func(t *testing.T, w *world, lk *redlock.Lock) error{
		"Err":    func(_ *testing.T, _ *world, lk *redlock.Lock) error { return lk.Err() },
		"Unlock": func(t *testing.T, _ *world, lk *redlock.Lock) error { return lk.Unlock(t.Context()) },
		"Extend": func(t *testing.T, _ *world, lk *redlock.Lock) error { return lk.Extend(t.Context()) },
		"WithContext": func(t *testing.T, _ *world, lk *redlock.Lock) error {
			ctx, cancel := lk.WithContext(t.Context())
			defer cancel()
			return context.Cause(ctx)
		},
		"Until": func(t *testing.T, w *world, lk *redlock.Lock) error {
			assert.False(t, lk.Until().After(w.Host("a").Clock().Now()), "it has passed")
			return lk.Err()
		},
	} {
		for how, sleep := range map[string]func(w *world){"paused": (*world).sleepThrough, "suspended": suspended} {
			for kept, opts := range map[string][]redlock.LockOption{
				"kept alive": nil, "not kept alive": {redlock.WithoutKeepalive()}, "fenced": {redlock.WithFencing()},
			} {
				subWorld(t, name+", "+how+", "+kept, 3, func(t *testing.T, w *world) {
					lk := lock(t, w.locker(t, "a"), "x", opts...)
					ctx := lk.Context()
					time.Sleep(2500 * time.Millisecond)
					sleep(w)
					require.ErrorIs(t, ask(t, w, lk), redlock.ErrLost)
					require.ErrorIs(t, lk.Err(), redlock.ErrLost)
					require.ErrorIs(t, context.Cause(ctx), redlock.ErrLost)
					w.Host("a").Thaw()
				})
			}
		}
	}
}

// hop is how long a message takes between a host and a master in these tests, so that each message of an operation is
// a step of its own.
const hop = 10 * time.Millisecond

// deadline is a deadline of the library, and a walk in which the machine of host "a" is suspended, step after an
// operation began. walk returns "" if the deadline counted the suspension, and otherwise what it did instead.
type deadline struct {
	name  string
	steps []time.Duration
	opts  []redlock.Option
	walk  func(w walk) string
}

// walk is what a walk gets: a world, the Locker of the host that is suspended, another one, and the step.
type walk struct {
	*testing.T
	*world
	a, other *redlock.Locker
	step     time.Duration
}

var (
	duringRequest = []time.Duration{0, hop / 2, 3 * hop / 2, 5 * hop / 2, 7 * hop / 2, 9 * hop / 2}
	onceHeld      = []time.Duration{0, time.Second}
	noKeepalive   = []redlock.Option{redlock.WithoutKeepalive()}
)

// twoHolders returns a complaint if both have the lock.
func twoHolders(t *testing.T, lk *redlock.Lock, other *redlock.Locker) string {
	t.Helper()
	theirs, err := other.TryLock(t.Context(), "x")
	if lk == nil || lk.Err() != nil {
		return ""
	}
	if err == nil {
		return fmt.Sprintf("two holders: %s has the lock, and the suspended host believes so until %v",
			theirs.Token(), lk.Until())
	}
	return fmt.Sprintf("it is not lost: %v", err)
}

var deadlines = []deadline{
	{"lease, acquire", duringRequest, noKeepalive, func(w walk) string {
		out := inBackground(func() (*redlock.Lock, error) { return w.a.TryLock(w.Context(), "x") })
		time.Sleep(w.step)
		w.suspend("a", ttl+time.Second)
		return twoHolders(w.T, ended(w.T, out, time.Second).lock, w.other)
	}},
	{"lease, extension", duringRequest, noKeepalive, func(w walk) string {
		lk := lock(w.T, w.a, "x")
		time.Sleep(time.Second)
		out := inBackground(func() (*redlock.Lock, error) { return nil, lk.Extend(w.Context()) })
		time.Sleep(w.step)
		w.suspend("a", ttl+time.Second)
		ended(w.T, out, time.Second)
		return twoHolders(w.T, lk, w.other)
	}},
	{"lease, hand-over", onceHeld, noKeepalive, func(w walk) string {
		lk := lock(w.T, w.a, "x")
		next := locking(w.Context(), w.a, "x")
		time.Sleep(w.step)
		w.suspend("a", ttl+time.Second)
		theirs := lock(w.T, w.other, "x")
		err := lk.Unlock(w.Context())
		synctest.Wait()
		select {
		case got := <-next:
			return fmt.Sprintf("two holders: the lease was handed over (%v, %v)", got.lock, got.err)
		default:
		}
		unlock(w.T, theirs)
		unlock(w.T, ended(w.T, next, 3*time.Second).lock)
		if err == nil {
			return "the unlock reports no loss"
		}
		return ""
	}},
	{"hand-over budget", onceHeld, nil, func(w walk) string {
		time.Sleep(w.step)
		lk := lock(w.T, w.a, "x")
		next := locking(w.Context(), w.a, "x")
		w.suspend("a", ttl/5) // three quarters of the TTL are left
		w.forget()
		unlock(w.T, lk)
		got := ended(w.T, next, time.Second)
		require.NoError(w.T, got.err)
		unlock(w.T, got.lock)
		if got.took < ttl/5+2*hop {
			return "the lease was handed over beyond the budget"
		}
		return ""
	}},
	{"keepalive", append(duringRequest, time.Second), nil, func(w walk) string {
		lk := lock(w.T, w.a, "x")
		time.Sleep(w.step)
		w.suspend("a", ttl*7/10)
		time.Sleep(time.Second + 4*hop)
		if left := w.Masters()[0].TTL("x"); left < ttl*8/10 {
			return fmt.Sprintf("a second after the suspension, %v of the TTL are left", left)
		}
		require.NoError(w.T, lk.Err())
		unlock(w.T, lk)
		return ""
	}},
	{"maximum hold", duringRequest, []redlock.Option{redlock.WithMaxHold(2 * ttl)}, func(w walk) string {
		lk := lock(w.T, w.a, "x")
		time.Sleep(w.step)
		for range 5 {
			w.suspend("a", ttl/4)
			time.Sleep(ttl / 5)
		}
		if err := lk.Err(); err == nil || !strings.Contains(err.Error(), "WithMaxHold") {
			return fmt.Sprintf("held for longer than the maximum: %v", err)
		}
		return ""
	}},
	{"minimum hold", duringRequest, []redlock.Option{redlock.WithMinHold(ttl)}, func(w walk) string {
		began := time.Now()
		lk := lock(w.T, w.a, "x")
		time.Sleep(w.step)
		w.suspend("a", ttl/2)
		require.NoError(w.T, lk.Extend(w.Context())) // the masters keep the key for long enough
		unlock(w.T, lk)
		unlock(w.T, granted(w.T, locking(w.Context(), w.other, "x"), 3*ttl))
		if taken := time.Since(began); taken < ttl || taken > ttl*11/10 {
			return fmt.Sprintf("the name was taken for %v", taken)
		}
		return ""
	}},
	{"waiting", onceHeld, []redlock.Option{patient}, func(w walk) string {
		w.foreign("x", time.Minute)
		out := locking(w.Context(), w.a, "x")
		time.Sleep(time.Second + w.step) // it has probed, and knows when the key expires
		w.suspend("a", time.Hour)
		resumed := time.Now()
		unlock(w.T, ended(w.T, out, 2*time.Hour).lock)
		if late := time.Since(resumed); late > 2*time.Second {
			return fmt.Sprintf("the waiter asked %v after the suspension", late)
		}
		return ""
	}},
	{"restart window", onceHeld, nil, func(w walk) string {
		each(w.Masters(), (*simnet.Master).Restart)
		for i := 0; ; i++ { // until a has seen the new servers
			_, err := w.a.TryLock(w.Context(), "x")
			if restarted(err) {
				break
			}
			require.Less(w.T, i, 5, "%v", err)
			time.Sleep(timeout)
		}
		time.Sleep(w.step)
		w.suspend("a", ttl+2*time.Second)
		lk, err := w.a.TryLock(w.Context(), "x")
		if err != nil {
			return err.Error()
		}
		unlock(w.T, lk)
		return ""
	}},
	{"election", onceHeld, nil, func(w walk) string {
		leader, err := election.New(w.a, "x").Campaign(w.Context())
		require.NoError(w.T, err)
		time.Sleep(w.step)
		w.suspend("a", ttl+time.Second)
		next, err := election.New(w.other, "x").Campaign(within(w.T, 5*time.Second))
		require.NoError(w.T, err)
		if leader.Err() == nil {
			return "two leaders"
		}
		require.NoError(w.T, next.Resign(w.Context()))
		return ""
	}},
}

// restarted reports whether a majority of the masters is within their restart window.
func restarted(err error) bool {
	n := 0
	for _, e := range redlock.NodeErrors(err) {
		var young *node.RestartError
		if errors.As(e, &young) {
			n++
		}
	}
	return n >= 2
}

// TestEveryDeadlineCountsASuspension walks each deadline through a suspension at each step. Its control walks them on a
// clock that reports no suspensions, as if package clock did not count them: then each of them is wrong at some step.
// The reservation of a node for a lease is in package quorum: TestAGuardedGrantCountsOnAReservedNode.
func TestEveryDeadlineCountsASuspension(t *testing.T) {
	t.Parallel()
	for _, d := range deadlines {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			for _, counts := range []bool{true, false} {
				var wrong []string
				for _, step := range d.steps {
					if complaint := d.at(t, step, counts); complaint != "" {
						wrong = append(wrong, fmt.Sprintf("%v: %s", step, complaint))
					}
				}
				if counts {
					assert.Empty(t, wrong)
				} else {
					assert.NotEmpty(t, wrong, "the control: it was right although no suspension was counted")
				}
			}
		})
	}
}

// at walks the deadline with a suspension at one step.
func (d deadline) at(t *testing.T, step time.Duration, counts bool) (complaint string) {
	t.Helper()
	bubble(t, 3, func(t *testing.T, w *world) {
		t.Helper()
		var c clock.Clock = w.Host("a").Clock()
		if !counts {
			c = struct{ clock.Clock }{c} // no clock.Suspender
		}
		nodes := make([]*node.Node, 0, 3)
		w.distance("a", hop)
		for _, url := range w.URLs() {
			n, err := node.Open(url, node.WithDialer(w.Host("a").Dial), node.WithClock(c))
			require.NoError(t, err)
			nodes = append(nodes, n)
		}
		a := w.over(t, "a", nodes, append([]redlock.Option{redlock.WithClock(c)}, d.opts...)...)
		w.warm(t, a)
		complaint = d.walk(walk{t, w, a, w.locker(t, "other"), step})
	})
	return complaint
}
