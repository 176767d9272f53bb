package stacktest_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// Over masters far apart a lock costs the round trip to the one that completes the majority, for one caller and for
// many.
func TestCallersOfFarMastersDoNotWaitForEachOther(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w *world) {
		const third = 40 * time.Millisecond
		for i, trip := range []time.Duration{1, 10, 40, 80, 160} {
			w.Master(i).Delay(trip*time.Millisecond/2, 0)
		}
		l := w.locker(t, "here")
		for i := range 3 {
			warm, err := l.Lock(t.Context(), fmt.Sprint("warm-", i))
			require.NoError(t, err)
			require.NoError(t, warm.Unlock(t.Context()))
		}
		for _, callers := range []int{1, 64} {
			for _, apart := range []time.Duration{0, 100 * time.Microsecond} {
				time.Sleep(time.Second)
				var mu sync.Mutex
				var locks, unlocks []time.Duration
				var all sync.WaitGroup
				for c := range callers {
					all.Go(func() {
						time.Sleep(time.Duration(c) * apart)
						for i := range 3 {
							began := time.Now()
							lock, err := l.Lock(t.Context(), fmt.Sprint("name-", c, "-", i))
							if !assert.NoError(t, err) {
								return
							}
							locked := time.Now()
							assert.NoError(t, lock.Unlock(t.Context()))
							mu.Lock()
							locks, unlocks = append(locks, locked.Sub(began)), append(unlocks, time.Since(locked))
							mu.Unlock()
						}
					})
				}
				all.Wait()
				for what, took := range map[string][]time.Duration{"lock": locks, "unlock": unlocks} {
					slices.Sort(took)
					p50, p99 := took[len(took)/2], took[len(took)*99/100]
					assert.LessOrEqual(t, p50, third*5/4, "%s, %d callers, %v apart", what, callers, apart)
					assert.LessOrEqual(t, p99, third*5/4, "%s, %d callers, %v apart", what, callers, apart)
				}
			}
		}
	})
}

// A silent or refusing minority makes no call of any kind slower.
func TestNoKindWaitsForAMinority(t *testing.T) {
	t.Parallel()
	const way = 10 * time.Millisecond
	for fault, do := range map[string]func(m *simnet.Master){
		"frozen": (*simnet.Master).Freeze, "down": (*simnet.Master).Crash,
		"cut off": func(m *simnet.Master) { m.BlackHole() },
	} {
		for _, k := range permitless {
			bubble(t, 5, func(t *testing.T, w *world) {
				for i := range 5 {
					w.Master(i).Delay(way, 0)
				}
				ours := w.locker(t, "us")
				timed := func(what string, f func() error) {
					t.Helper()
					began := time.Now()
					require.NoError(t, f(), "%s: %s", k.name, what)
					assert.LessOrEqual(t, time.Since(began), 4*way, "%s: %s, two masters %s", k.name, what, fault)
				}
				require.NoError(t, lock(t, ours, "x").Unlock(t.Context())) // connects
				time.Sleep(2 * way)
				do(w.Master(1))
				do(w.Master(3))
				for range 3 {
					var l *redlock.Lock
					timed("lock", func() (err error) {
						l, err = k.try(t.Context(), ours)
						return err
					})
					timed("extend", func() error { return l.Extend(t.Context()) })
					timed("unlock", func() error { return l.Unlock(t.Context()) })
				}
			})
		}
	}
}
