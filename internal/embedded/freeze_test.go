package embedded_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every answer carries the time at which its command was executed: none may fall into the freeze.
func TestNothingIsExecutedDuringAFreeze(t *testing.T) {
	t.Parallel()
	m := open(t)
	var mu sync.Mutex
	var executed []time.Time
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	t.Cleanup(clients.Wait)
	for range 8 {
		c := connect(t, m)
		clients.Go(func() {
			for ctx.Err() == nil {
				var times []*redis.TimeCmd
				_, err := c.Pipelined(context.WithoutCancel(ctx), func(p redis.Pipeliner) error {
					for range 10 {
						times = append(times, p.Time(ctx))
					}
					return nil
				})
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				for _, at := range times {
					executed = append(executed, at.Val())
				}
				mu.Unlock()
			}
		})
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(executed)
	}
	busy := func() { // waits for more commands than are under way, so that some begin after the call
		t.Helper()
		before := count()
		require.Eventually(t, func() bool { return count() > before+100 }, patience, time.Millisecond)
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

	var before, after int
	for _, at := range executed {
		for i, f := range freezes {
			// TIME is in whole microseconds.
			assert.False(
				t, at.After(f.from) && at.Before(f.to.Add(-time.Microsecond)), "%v into freeze %d", at.Sub(f.from), i,
			)
		}
		if at.Before(freezes[0].from) {
			before++
		}
		if at.After(freezes[9].to) {
			after++
		}
	}
	assert.Positive(t, before)
	assert.Positive(t, after)
}
