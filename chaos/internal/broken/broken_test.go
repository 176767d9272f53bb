package broken_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/redlocktest"
)

const ttl = 10 * time.Second

// client is a Locker and what breaks it.
type client struct {
	*redlock.Locker
	wrapping *broken.Wrapping
}

// open opens a Locker that lock breaks. The zero Lock breaks nothing.
func open(t *testing.T, lock broken.Lock, urls []string, opts ...redlock.Option) client {
	t.Helper()
	w := lock.Wrap()
	opts = append([]redlock.Option{redlock.WithTTL(ttl), redlock.WithoutKeepalive()}, opts...)
	l, err := redlock.Open(urls, append(opts, w.Options()...)...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return client{l, w}
}

// try returns a handle on the name, nil if it cannot be acquired.
func (c client) try(opts ...redlock.LockOption) broken.Handle {
	l, err := c.TryLock(context.Background(), "name", opts...)
	if err != nil {
		return nil
	}
	return c.wrapping.Hold(c.Locker, l)
}

// connect has the Locker connect to all masters.
func (c client) connect(t *testing.T) {
	t.Helper()
	l, err := c.Lock(t.Context(), "another")
	require.NoError(t, err)
	time.Sleep(time.Second)
	require.NoError(t, l.Unlock(t.Context()))
}

func (c client) must(t *testing.T, opts ...redlock.LockOption) broken.Handle {
	t.Helper()
	h := c.try(opts...)
	require.NotNil(t, h)
	return h
}

// deny has masters deny the name, after all others have answered.
func deny(masters []*redlocktest.Master) {
	for _, m := range masters {
		m.Hold("name", time.Hour)
		m.Slow(10 * time.Millisecond)
	}
}

// Each wrapper breaks one rule. The same steps with a Locker that nothing wraps break none.
func TestAWrapperIsWhatBreaksTheRule(t *testing.T) {
	t.Parallel()
	for name, breaks := range map[string]func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool{
		"majority less one": func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
			masters[0].Hold("name", time.Hour)
			masters[2].Hold("name", time.Hour)
			return open(t, lock, redlocktest.URLs(masters)).try() != nil
		},
		"elapsed not subtracted": func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
			for _, m := range masters {
				m.Slow(50 * time.Millisecond)
			}
			c := open(t, lock, redlocktest.URLs(masters))
			c.connect(t)
			asked := time.Now()
			return c.must(t).Until().After(asked.Add(clock.Validity(ttl, 0, clock.DefaultDrift.Of(ttl)) + 10*time.Millisecond))
		},
		"no release after failure": func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
			c, other := open(t, lock, redlocktest.URLs(masters)), open(t, broken.Lock{}, redlocktest.URLs(masters))
			c.connect(t)
			deny(masters[1:])
			require.Nil(t, c.try())
			masters[1].Release("name")
			time.Sleep(time.Second)
			return other.try() == nil
		},
		"healing counted at once": func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
			h := open(t, lock, redlocktest.URLs(masters)).must(t)
			for _, m := range masters {
				m.Wipe()
			}
			return h.Extend(t.Context()) == nil
		},
		"fencing without write-back": func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
			c := open(t, lock, redlocktest.URLs(masters))
			early := open(t, broken.Lock{}, redlocktest.URLs(masters), redlock.WithClock(ahead{clock.System}))
			early.connect(t)
			deny(masters[1:])
			require.Nil(t, early.try(redlock.WithFencing())) // the first master has counted it
			masters[2].Release("name")
			time.Sleep(time.Second)
			first := c.must(t, redlock.WithFencing())
			require.NoError(t, first.Unlock(t.Context()))
			masters[0].Stop()
			masters[1].Release("name")
			return c.must(t, redlock.WithFencing()).Fence() <= first.Fence()
		},
		"keepalive that ignores votes": func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
			h := open(t, lock, redlocktest.URLs(masters)).must(t)
			for _, m := range masters {
				m.Hold("name", time.Hour)
			}
			return h.Extend(t.Context()) == nil
		},
		"lock handed over and released": func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
			c, other := open(t, lock, redlocktest.URLs(masters)), open(t, broken.Lock{}, redlocktest.URLs(masters))
			first := c.must(t)
			next := make(chan broken.Handle)
			go func() {
				l, err := c.Lock(context.Background(), "name")
				assert.NoError(t, err)
				next <- c.wrapping.Hold(c.Locker, l)
			}()
			time.Sleep(time.Millisecond)
			require.NoError(t, first.Unlock(t.Context()))
			h := <-next
			time.Sleep(time.Second)
			require.NoError(t, h.Err())
			return other.try() != nil
		},
		"release before the deadline": lostIsFree,
		"deadline moved to the loss": func(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
			h := open(t, lock, redlocktest.URLs(masters)).must(t)
			believed := h.Until()
			<-h.Context().Done()
			lost := time.Now()
			time.Sleep(100 * time.Microsecond)
			return h.Until().Before(believed) && !h.Until().Before(lost)
		},
		"loss notified 100 ms late": notifiedLate,
		"loss notified 4 s late":    notifiedLate,
		"loss never notified":       notifiedLate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lock, ok := broken.Find(name)
			require.True(t, ok)
			synctest.Test(t, func(t *testing.T) {
				assert.True(t, breaks(t, lock, redlocktest.StartVirtual(t, 3)))
			})
			synctest.Test(t, func(t *testing.T) {
				assert.False(t, breaks(t, broken.Lock{}, redlocktest.StartVirtual(t, 3)), "nothing is wrapped")
			})
		})
	}
}

// lostIsFree reports whether another client gets a lock whose holder has seen its loss, before the holder's Until.
func lostIsFree(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
	t.Helper()
	c, other := open(t, lock, redlocktest.URLs(masters)), open(t, broken.Lock{}, redlocktest.URLs(masters))
	h := c.must(t)
	require.Nil(t, other.try()) // it connects
	<-h.Context().Done()
	time.Sleep(100 * time.Microsecond)
	got := other.try()
	require.True(t, time.Now().Before(h.Until()))
	return got != nil
}

// notifiedLate reports whether a lock's context ends after its Until.
func notifiedLate(t *testing.T, lock broken.Lock, masters []*redlocktest.Master) bool {
	t.Helper()
	h := open(t, lock, redlocktest.URLs(masters)).must(t)
	<-h.Context().Done()
	require.ErrorIs(t, context.Cause(h.Context()), redlock.ErrLost)
	return time.Now().After(h.Until())
}

// A server has one vote, under however many names. It grants a reader's lock as often as it is asked.
func TestAServerWithTwoAddressesHasTwoVotes(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 2)
	masters[1].Stop()
	one := masters[0].URL()
	urls := []string{one, strings.Replace(one, "127.0.0.1", "localhost", 1), masters[1].URL()}
	require.NotEqual(t, urls[0], urls[1])
	lock, ok := broken.Find("duplicate servers allowed")
	require.True(t, ok)
	_, err := open(t, broken.Lock{}, urls).RW("name").TryRLock(t.Context())
	require.ErrorIs(t, err, redlock.ErrNoQuorum, "nothing is wrapped")
	_, err = open(t, lock, urls).RW("name").TryRLock(t.Context())
	require.NoError(t, err)
}

// ahead is a clock whose time of day is a minute ahead.
type ahead struct{ clock.Clock }

func (c ahead) Now() time.Time { return c.Clock.Now().Add(time.Minute) }
