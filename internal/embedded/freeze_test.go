package embedded_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every answer carries the time at which its command was executed: none may fall into the freeze.
func TestNothingIsExecutedDuringAFreeze(t *testing.T) {
	t.Parallel()
	m, begin := open(t), time.Now()
	var executed [8][]time.Time // by client
	var count atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	t.Cleanup(clients.Wait)
	for i := range executed {
		c := connect(t, m)
		clients.Go(func() {
			for ctx.Err() == nil {
				p := c.Pipeline()
				for range 10 {
					p.Time(ctx)
				}
				commands, err := p.Exec(context.WithoutCancel(ctx))
				if !assert.NoError(t, err) {
					return
				}
				for _, cmd := range commands {
					executed[i] = append(executed[i], cmd.(*redis.TimeCmd).Val())
				}
				count.Add(10)
			}
		})
	}
	busy := func() { // waits for more commands than are under way, so that some begin after the call
		t.Helper()
		before := count.Load()
		require.Eventually(t, func() bool { return count.Load() > before+100 }, patience, time.Millisecond)
	}
	busy()
	type span struct{ from, to time.Time }
	var freezes []span
	for range 10 {
		time.Sleep(5 * time.Millisecond)
		m.Freeze()
		from := time.Now()
		time.Sleep(10 * time.Millisecond)
		freezes = append(freezes, span{from, time.Now()})
		m.Thaw()
	}
	busy()
	cancel()
	clients.Wait()

	for _, at := range slices.Concat(executed[:]...) {
		assert.WithinRange(t, at, begin.Add(-time.Microsecond), time.Now(), "TIME is in whole microseconds")
		for i, f := range freezes {
			assert.False(
				t, at.After(f.from) && at.Before(f.to.Add(-time.Microsecond)), "%v into freeze %d", at.Sub(f.from), i,
			)
		}
	}
}
