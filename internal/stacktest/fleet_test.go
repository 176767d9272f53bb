package stacktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock"
)

// both is docs/masters.md's, word for word; readme_test.go compares them.
func both(ctx context.Context, old, next *redlock.Locker, name string, fn func(context.Context) error) error {
	return old.Do(ctx, name, func(ctx context.Context) error {
		return next.Do(ctx, name, fn) // always in this order, or two wait for each other
	})
}

func TestBothListsAtOnce(t *testing.T) {
	t.Parallel()
	type taking func(ctx context.Context, old, next *redlock.Locker, fn func(context.Context) error) error
	first := func(ctx context.Context, old, _ *redlock.Locker, fn func(context.Context) error) error {
		return old.Do(ctx, "job", fn)
	}
	second := func(ctx context.Context, old, next *redlock.Locker, fn func(context.Context) error) error {
		return both(ctx, old, next, "job", fn)
	}
	third := func(ctx context.Context, _, next *redlock.Locker, fn func(context.Context) error) error {
		return next.Do(ctx, "job", fn)
	}
	for _, stage := range []struct {
		name     string
		fleet    []taking
		excludes bool
	}{
		{"old and both", []taking{first, first, second, second}, true},
		{"both", []taking{second, second, second, second}, true},
		{"both and new", []taking{second, second, third, third}, true},
		{"old and new, the control", []taking{first, first, third, third}, false},
	} {
		bubble(t, migrating, func(t *testing.T, w *world) {
			var mu sync.Mutex
			var inside, overlaps int
			var done sync.WaitGroup
			for i, take := range stage.fleet {
				host := fmt.Sprint("host ", i)
				old := w.over(t, host, w.nodes(t, host, w.list([]int{0, 1, 2})...))
				next := w.over(t, host, w.nodes(t, host, w.list([]int{3, 4, 5})...))
				done.Go(func() {
					for range 10 {
						err := take(within(t, time.Hour), old, next, func(context.Context) error {
							mu.Lock()
							if inside++; inside > 1 {
								overlaps++
							}
							mu.Unlock()
							time.Sleep(rand.N(200 * time.Millisecond))
							mu.Lock()
							inside--
							mu.Unlock()
							return nil
						})
						assert.NoError(t, err)
					}
				})
			}
			done.Wait()
			assert.Equal(t, stage.excludes, overlaps == 0, "%s: %d overlaps", stage.name, overlaps)
		})
	}
}
