package stacktest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// A HeldError names the holder if this Locker is the holder, or if the caller waited.
func TestHeldErrorNamesTheHolder(t *testing.T) {
	t.Parallel()
	const owner = "host-7:8"
	for _, tt := range []struct {
		name   string
		hold   call
		kept   bool // it is released, with a minimum hold
		waited string
		own    string // of a TryLock of the same Locker
	}{
		{name: "mutex", hold: byMutex, waited: owner, own: owner},
		{name: "minimum hold", hold: func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
			return l.Lock(ctx, "x", redlock.WithMinHold(10*time.Second))
		}, kept: true, waited: owner},
		{name: "writer", hold: byWriter, waited: owner, own: owner},
		{name: "reader", hold: byReader, waited: owner},
		{name: "owner", hold: func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
			return l.Reentrant("x", "job\x1b[2J\n7").Lock(ctx)
		}, waited: "job\uFFFD[2J\uFFFD7"},
		{name: "permit", hold: byOnlyPermit, waited: owner},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				a, b := w.locker(t, owner), w.locker(t, "b")
				lk, err := tt.hold(t.Context(), a, 0)
				require.NoError(t, err)
				if tt.kept {
					unlock(t, lk)
				}
				_, err = b.TryLock(t.Context(), "x")
				assert.Empty(t, heldError(t, err).Holder, "a plain SET does not tell")
				_, err = b.Lock(within(t, time.Second), "x")
				assert.Equal(t, tt.waited, heldError(t, err).Holder)
				assert.NotContains(t, err.Error(), "\x1b")
				if tt.waited != "" {
					assert.Contains(t, err.Error(), `, "`+tt.waited+`")`)
				}
				_, err = a.TryLock(t.Context(), "x")
				assert.Equal(t, tt.own, heldError(t, err).Holder)
			})
		})
	}
}

// The value of another client's key may be a secret.
func TestHeldErrorShowsNoForeignValue(t *testing.T) {
	t.Parallel()
	hexadecimal := strings.Repeat("0f", 16)
	for value, holder := range map[string]string{
		"foreign":                       "",
		strings.Repeat("secret", 20):    "",
		"secret " + hexadecimal:         "",
		"host:" + hexadecimal:           "host",
		"min-hold:host:" + hexadecimal:  "host",
		"host:" + hexadecimal[1:] + "x": "",
		hexadecimal:                     "",
		":" + hexadecimal:               "",
	} {
		inWorld(t, 3, func(t *testing.T, w *world) {
			for _, m := range w.Masters() {
				m.Set("x", value, time.Hour)
			}
			_, err := w.locker(t, "a").Lock(within(t, time.Second), "x")
			assert.Equal(t, holder, heldError(t, err).Holder, value)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

// The error of a caller that waited has the time that is left of a lock; 0 if the lock has no end.
func TestHeldErrorHasTheTimeThatIsLeft(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]time.Duration{0: 0, time.Minute: time.Minute, time.Hour: time.Hour} {
		inWorld(t, 3, func(t *testing.T, w *world) {
			w.foreign("x", left)
			_, err := w.locker(t, "a").Lock(within(t, time.Second), "x")
			assert.InDelta(t, float64(want), float64(heldError(t, err).Retry), float64(time.Second))
		})
	}
}
