package redlock_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Over masters far apart a lock costs the round trip to the one that completes the majority, for one caller and for
// many.
func TestCallersOfFarMastersDoNotWaitForEachOther(t *testing.T) {
	t.Parallel()
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
