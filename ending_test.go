package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/simnet"
)

// TestCloseIsBoundedInEveryPhase closes a Locker at every moment of what it may be doing: while the first node is
// asked, the others, or a fencing token is written back; while a waiter looks at what is in its way; and so on. The
// masters are so slow that each step takes nearly the node timeout, or silent.
func TestCloseIsBoundedInEveryPhase(t *testing.T) {
	t.Parallel()
	const (
		nodeTimeout = 5 * time.Second
		bound       = time.Second + 2*nodeTimeout
		long        = 5 * time.Minute // a TTL that ends nothing
	)
	opts := []redlock.Option{redlock.WithNodeTimeout(nodeTimeout), redlock.WithTTL(long), redlock.WithRestartWindow(time.Hour)}
	type scene struct {
		l    *redlock.Locker
		held *redlock.Lock
	}
	fenced := redlock.WithFencing()
	for name, call := range map[string]func(ctx context.Context, s scene) error{
		"Lock":    func(ctx context.Context, s scene) error { _, err := s.l.Lock(ctx, "x", fenced); return err },
		"TryLock": func(ctx context.Context, s scene) error { _, err := s.l.TryLock(ctx, "x", fenced); return err },
		"Lock of a held": func(ctx context.Context, s scene) error {
			_, err := s.l.Lock(ctx, "foreign", fenced, patient)
			return err
		},
		"RW.Lock of a held": func(ctx context.Context, s scene) error { _, err := s.l.RW("foreign").Lock(ctx); return err },
		"Inspect":           func(ctx context.Context, s scene) error { _, err := s.l.Inspect(ctx, "x"); return err },
		"Nodes":             func(ctx context.Context, s scene) error { _, err := s.l.Nodes(ctx); return err },
		"Attach":            func(ctx context.Context, s scene) error { _, err := s.l.Attach(ctx, "held", "token"); return err },
		"Unlock":            func(ctx context.Context, s scene) error { return s.held.Unlock(ctx) },
		"Extend":            func(ctx context.Context, s scene) error { return s.held.Extend(ctx) },
	} {
		for fault, do := range map[string]func(m *simnet.Master, i int){
			"slow":                  func(m *simnet.Master, _ int) { m.Delay(2400*time.Millisecond, 0) },
			"frozen":                func(m *simnet.Master, _ int) { m.Freeze() },
			"one frozen, two slow":  func(m *simnet.Master, i int) { freezeOrDelay(m, i == 0) },
			"another one is frozen": func(m *simnet.Master, i int) { freezeOrDelay(m, i == 1) },
			"the last one is":       func(m *simnet.Master, i int) { freezeOrDelay(m, i == 2) },
		} {
			t.Run(name+", "+fault, func(t *testing.T) {
				t.Parallel()
				for at := 100 * time.Millisecond; at < 16*time.Second; at += 700 * time.Millisecond {
					inWorld(t, 3, func(t *testing.T, w *world) {
						for i, m := range w.Masters() { // they disagree on the fencing token, which is written back
							m.Set(kind.FenceKey("x"), fmt.Sprint(int64(2e15)+int64(i)), 0)
							m.Set(kind.FenceKey("foreign"), fmt.Sprint(int64(2e15)+int64(i)), 0)
						}
						l := w.locker(t, "a", opts...)
						w.warm(t, l)
						s := scene{l, lock(t, l, "held")}
						synctest.Wait()
						w.foreign("foreign", 3*time.Second)
						var done sync.WaitGroup
						waits := strings.Contains(name, "held")
						if waits { // and asks one node first when the foreign keys end, a moment after the fault
							done.Go(func() { _ = call(context.Background(), s) })
							time.Sleep(2950 * time.Millisecond)
						}
						for i, m := range w.Masters() {
							do(m, i)
						}
						if !waits {
							done.Go(func() { _ = call(context.Background(), s) })
						}
						time.Sleep(at)
						began := time.Now()
						require.NoError(t, l.Close())
						assert.LessOrEqual(t, time.Since(began), bound, "closed at %v", at)
						done.Wait()
						assert.LessOrEqual(t, time.Since(began), bound, "closed at %v: the call", at)
						time.Sleep(5 * time.Second) // the foreign keys end
						for i, m := range w.Masters() {
							for _, key := range m.Keys() {
								if fault == "slow" && !strings.HasPrefix(key, "redlock:") { // fences stay, and an intent for a while
									assert.Fail(t, "a key is left", "closed at %v: %q on master %d", at, key, i)
								}
							}
						}
						w.Heal()
					})
				}
			})
		}
	}
}

func freezeOrDelay(m *simnet.Master, frozen bool) {
	if frozen {
		m.Freeze()
	} else {
		m.Delay(2400*time.Millisecond, 0)
	}
}

// What Close ends says that the Locker is closed, at once.
func TestCloseEndsCallsThatWaitForMasters(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(ctx context.Context, l *redlock.Locker) error{
		"Lock":    func(ctx context.Context, l *redlock.Locker) error { _, err := l.Lock(ctx, "x"); return err },
		"TryLock": func(ctx context.Context, l *redlock.Locker) error { _, err := l.TryLock(ctx, "x"); return err },
		"Inspect": func(ctx context.Context, l *redlock.Locker) error { _, err := l.Inspect(ctx, "x"); return err },
		"Nodes":   func(ctx context.Context, l *redlock.Locker) error { _, err := l.Nodes(ctx); return err },
		"Attach":  func(ctx context.Context, l *redlock.Locker) error { _, err := l.Attach(ctx, "x", "token"); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				l := w.locker(t, "a")
				w.warm(t, l)
				for _, m := range w.Masters() {
					m.Freeze()
				}
				var took time.Duration
				began := time.Now()
				done := make(chan error, 1)
				go func() {
					err := call(context.Background(), l)
					took = time.Since(began)
					done <- err
				}()
				time.Sleep(timeout / 2)
				require.NoError(t, l.Close())
				require.ErrorIs(t, <-done, redlock.ErrClosed)
				assert.Equal(t, timeout/2, took, "it did not wait for the masters")
				w.Heal()
			})
		})
	}
}

// So does the writing back of a fencing token.
func TestCloseEndsACallThatWritesItsFencingTokenBack(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		disagree := func() {
			for i, m := range w.Masters() {
				m.Set(kind.FenceKey("x"), fmt.Sprint(int64(2e15)+int64(i)), 0)
			}
		}
		for range 3 { // until all masters know the scripts
			disagree()
			lk := lock(t, l, "x", redlock.WithFencing())
			synctest.Wait()
			unlock(t, lk)
			synctest.Wait()
		}
		disagree()
		w.forget()
		for _, m := range w.Masters() {
			m.Delay(100*time.Millisecond, 0)
		}
		began := time.Now()
		out := inBackground(func() (*redlock.Lock, error) {
			return l.TryLock(t.Context(), "x", redlock.WithFencing())
		})
		time.Sleep(350 * time.Millisecond)
		waiting(t, out)
		require.Len(t, w.asked(), 5, "the control: the token is being written back")
		go func() { assert.NoError(t, l.Close()) }()
		a := ended(t, out, 0)
		require.ErrorIs(t, a.err, redlock.ErrClosed)
		assert.Equal(t, 350*time.Millisecond, time.Since(began))
		time.Sleep(2 * time.Second)
		assert.Empty(t, w.leftovers("x"))
	})
}
