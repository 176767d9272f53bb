package stacktest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// Two hundred callers of one Locker want one name at the same time: as owners of a reentrant lock, and as holders of a
// mutex.
func BenchmarkTwoHundredCallers(b *testing.B) {
	redisproc.Need(b)
	masters, err := redisproc.StartN(b.Context(), 5)
	require.NoError(b, err)
	b.Cleanup(func() { assert.NoError(b, redisproc.CloseAll(masters)) })
	urls := make([]string, len(masters))
	for i, m := range masters {
		urls[i] = m.URL()
	}
	for kind, call := range map[string]func(ctx context.Context, l *redlock.Locker, i int) (*redlock.Lock, error){
		"owners": func(ctx context.Context, l *redlock.Locker, i int) (*redlock.Lock, error) {
			return l.Reentrant("x", fmt.Sprint("owner", i)).Lock(ctx)
		},
		"mutexes": func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) { return l.Lock(ctx, "x") },
		"mutexes, not handed over": func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) {
			return l.Lock(ctx, "x", redlock.WithoutHandOver())
		},
		"writers": func(ctx context.Context, l *redlock.Locker, _ int) (*redlock.Lock, error) { return l.RW("x").Lock(ctx) },
	} {
		b.Run(kind, func(b *testing.B) {
			l, err := redlock.Open(urls, redlock.WithoutRestartGuard())
			require.NoError(b, err)
			b.Cleanup(func() { assert.NoError(b, l.Close()) })
			for b.Loop() {
				var all sync.WaitGroup
				for i := range 200 {
					all.Go(func() {
						lk, err := call(b.Context(), l, i)
						if assert.NoError(b, err) {
							assert.NoError(b, lk.Unlock(b.Context()))
						}
					})
				}
				all.Wait()
			}
		})
	}
}
