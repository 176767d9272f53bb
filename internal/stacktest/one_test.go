package stacktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// With one master every kind works, fencing included, and each call is one command and one round trip.
func TestOneMasterIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	const way = 10 * time.Millisecond
	for _, k := range permitless {
		for _, fencing := range []bool{false, true} {
			inWorld(t, 1, func(t *testing.T, w *world) {
				w.Master(0).Delay(way, 0)
				var opts []redlock.LockOption
				if fencing {
					opts = append(opts, redlock.WithFencing())
				}
				ours, others := w.locker(t, "us"), w.locker(t, "others")
				once := func(what string, f func() error) error {
					t.Helper()
					w.forget()
					began := time.Now()
					err := f()
					assert.Equal(t, 2*way, time.Since(began), "%s: %s, fencing %v", k.name, what, fencing)
					time.Sleep(2 * way)
					commands := 1
					if err != nil {
						commands = 2 // after a failure comes a release, which the caller does not wait for
					}
					assert.Len(t, w.asked(), commands, "%s: %s, fencing %v", k.name, what, fencing)
					return err
				}
				var last uint64
				round := func(once func(string, func() error) error) {
					var l *redlock.Lock
					require.NoError(t, once("lock", func() (err error) {
						l, err = k.try(t.Context(), ours, opts...)
						return err
					}))
					require.NoError(t, once("extend", func() error { return l.Extend(t.Context()) }))
					require.ErrorIs(t, once("held", func() error {
						_, err := others.TryLock(t.Context(), "x")
						return err
					}), redlock.ErrHeld)
					require.NoError(t, once("unlock", func() error { return l.Unlock(t.Context()) }))
					assert.Equal(t, fencing, l.Fence() != 0)
					if fencing && k.name != "reader" {
						assert.Greater(t, l.Fence(), last, k.name)
					}
					last = l.Fence()
				}
				round(func(_ string, f func() error) error { return f() }) // connects, and brings the scripts
				time.Sleep(2 * way)
				round(once)
			})
		}
	}
}
