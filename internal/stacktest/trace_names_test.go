package stacktest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// kindOf returns the kind of the locks that a way acquires.
func kindOf(way string) string {
	for _, k := range []struct{ prefix, kind string }{
		{"RW.R", "reader"},
		{"RW.TryR", "reader"},
		{"RW.", "writer"},
		{"Reentrant.", "reentrant"},
		{"Semaphore.", "semaphore"},
	} {
		if strings.HasPrefix(way, k.prefix) {
			return k.kind
		}
	}
	return "mutex"
}

// Every event of an acquisition and of its hold has an id, the kind, and all names, in whatever way the lock is
// acquired.
func TestEveryEventNamesItsLock(t *testing.T) {
	t.Parallel()
	for name, acquire := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				var mu sync.Mutex
				got := make(map[string]map[string]bool) // kind and name, by hook
				note := func(hook string, e any) {
					mu.Lock()
					defer mu.Unlock()
					v := reflect.ValueOf(e)
					assert.NotZero(t, v.FieldByName("ID").Uint(), hook)
					if got[hook] == nil {
						got[hook] = make(map[string]bool)
					}
					got[hook][fmt.Sprint(v.FieldByName("Kind"), " ", v.FieldByName("Name"))] = true
				}
				l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
					AcquireStart: func(_ context.Context, e redlock.AcquireStartEvent) { note("AcquireStart", e) },
					Waiting:      func(_ context.Context, e redlock.WaitingEvent) { note("Waiting", e) },
					AcquireEnd:   func(_ context.Context, e redlock.AcquireEndEvent) { note("AcquireEnd", e) },
					Extended:     func(_ context.Context, e redlock.ExtendedEvent) { note("Extended", e) },
					HoldEnd:      func(_ context.Context, e redlock.HoldEndEvent) { note("HoldEnd", e) },
					Unlocked:     func(_ context.Context, e redlock.UnlockedEvent) { note("Unlocked", e) },
					Vote:         func(_ context.Context, e redlock.VoteEvent) { note("Vote", e) },
				}))
				w.foreign("x", time.Second)
				hooks := []string{"AcquireStart", "AcquireEnd", "Extended", "HoldEnd", "Unlocked", "Vote"}
				extend := func(lk *redlock.Lock) { assert.NoError(t, lk.Extend(t.Context())) }
				if strings.Contains(name, "Try") {
					require.ErrorIs(t, acquire(t.Context(), l, "x", extend), redlock.ErrHeld)
					time.Sleep(2 * time.Second)
				} else {
					hooks = append(hooks, "Waiting")
				}
				require.NoError(t, acquire(t.Context(), l, "x", extend))
				time.Sleep(time.Second) // for the last votes
				names := "x"
				if strings.HasSuffix(name, "All") {
					names = strings.Join(pair("x"), ",")
				}
				want := make(map[string]map[string]bool)
				for _, hook := range hooks {
					want[hook] = map[string]bool{kindOf(name) + " " + names: true}
				}
				mu.Lock()
				defer mu.Unlock()
				assert.Equal(t, want, got)
			})
		})
	}
}
