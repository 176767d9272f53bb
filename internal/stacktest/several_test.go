package stacktest_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/node"
)

// inBalanced runs f with three addresses, of which the first balanced ones lead to two masters each, in turn.
func inBalanced(t *testing.T, balanced int, f func(t *testing.T, w *world, urls []string)) {
	t.Helper()
	bubble(t, 6, func(t *testing.T, w *world) {
		var urls []string
		for i := range 3 {
			addr := fmt.Sprintf("10.9.9.%d:6379", i)
			w.Alias(addr, i)
			if i < balanced {
				w.Alias(addr, i, i+3)
			}
			urls = append(urls, "redis://"+addr)
		}
		for _, m := range w.Masters() {
			m.Delay(time.Millisecond, time.Millisecond)
		}
		f(t, w, urls)
	})
}

// The clients' connections reach other servers, so each could get a majority of its own.
func TestServersBehindLoadBalancersGrantNoLock(t *testing.T) {
	t.Parallel()
	for balanced := 2; balanced <= 3; balanced++ {
		inBalanced(t, balanced, func(t *testing.T, w *world, urls []string) {
			var log logbook
			a := w.over(t, "a", w.nodes(t, "a", urls...), redlock.WithLogger(log.logger()))
			b := w.over(t, "b", w.nodes(t, "b", urls...))
			for i := range 100 {
				for k, l := range []*redlock.Locker{a, b} {
					_, err := l.TryLock(t.Context(), "x")
					require.ErrorIs(t, err, redlock.ErrNoQuorum, "%d, %d: %d", balanced, i, k)
					several := 0
					for _, failed := range redlock.NodeErrors(err) {
						var e *node.SeveralServersError
						if assert.ErrorAs(t, failed, &e, "%v", err) {
							several++
						}
					}
					assert.GreaterOrEqual(t, several, 2)
				}
				time.Sleep(100 * time.Millisecond)
			}
			rows, err := a.Nodes(t.Context())
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			for i, row := range rows {
				assert.True(t, row.Reachable)
				assert.Equal(t, i >= balanced, row.MayVote, "%+v", row)
			}
			assert.Len(t, log.lines("a master is not asked for locks"), balanced, "one for each")

			for i := range balanced {
				w.Alias(fmt.Sprintf("10.9.9.%d:6379", i), i)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			_, err = a.Lock(ctx, "x")
			require.NoError(t, err)
			_, err = b.TryLock(t.Context(), "x")
			require.Error(t, err)
			assert.Zero(t, w.keysOf(3, 6))
			assert.GreaterOrEqual(t, len(log.lines("leads to one server again")), 1)
		})
	}
}

// keysOf returns how many keys there are on the masters from, from+1 … below to.
func (w *world) keysOf(from, to int) (n int) {
	for _, m := range w.some(from, to) {
		n += len(m.Keys())
	}
	return n
}
