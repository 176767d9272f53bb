package contention_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/contention"
)

// ms returns durations in milliseconds.
func ms(ns ...int) (ds []time.Duration) {
	for _, n := range ns {
		ds = append(ds, time.Duration(n)*time.Millisecond)
	}
	return ds
}

// backoff is the policy of a waiter for five masters. Its random numbers are the largest possible ones.
func backoff() *contention.Backoff {
	return &contention.Backoff{
		RetryMin: 10 * time.Millisecond, RetryMax: time.Second, Majority: 3,
		Random: func(n int64) int64 { return n - 1 },
	}
}

// afterFailures returns the policy after 30 attempts that failed.
func afterFailures(b *contention.Backoff) *contention.Backoff {
	for range 30 {
		b.Next(contention.Result{})
	}
	return b
}

func denied(m contention.Masters) contention.Result {
	return contention.Result{Probed: true, Masters: m}
}

func TestNextAttempt(t *testing.T) {
	t.Parallel()
	const jitter = 10*time.Millisecond - 1
	for name, tt := range map[string]struct {
		result contention.Result
		want   contention.Plan
	}{
		"masters failed": {
			contention.Result{},
			contention.Plan{Delay: 20 * time.Millisecond},
		},
		"a lock has a majority, and ends before the back-off": {
			denied(contention.Masters{Largest: 5, TTLs: ms(19, 17, 15, 18, 16)}),
			contention.Plan{Delay: 17 * time.Millisecond, First: true, Held: true, Expiry: 17 * time.Millisecond},
		},
		"masters that are free count": {
			denied(contention.Masters{Free: 2, Largest: 3, TTLs: ms(13, 11, 12)}),
			contention.Plan{Delay: 11 * time.Millisecond, First: true, Held: true, Expiry: 11 * time.Millisecond},
		},
		"masters that have not answered may be free by then": {
			denied(contention.Masters{Pending: 2, Largest: 3, TTLs: ms(13, 11, 12)}),
			contention.Plan{Delay: 11 * time.Millisecond, First: true, Held: true, Expiry: 11 * time.Millisecond},
		},
		"masters that failed are not free": {
			denied(contention.Masters{Failed: 2, Largest: 3, TTLs: ms(13, 11, 12)}),
			contention.Plan{Delay: 13 * time.Millisecond, First: true, Held: true, Expiry: 13 * time.Millisecond},
		},
		"a lock that ends at once": {
			denied(contention.Masters{Largest: 5, TTLs: ms(0, 0, 0, 0, 0)}),
			contention.Plan{Delay: jitter, First: true, Held: true},
		},
		"a lock that ends after the back-off": {
			denied(contention.Masters{Largest: 5, TTLs: ms(50, 50, 50, 50, 50)}),
			contention.Plan{Delay: 20 * time.Millisecond, First: true, Held: true, Expiry: 50 * time.Millisecond},
		},
		"a lock without a TTL": {
			denied(contention.Masters{Largest: 5}),
			contention.Plan{Delay: 20 * time.Millisecond, First: true, Held: true, Expiry: contention.Unlimited},
		},
		"only the first master denied, but others hold the lock, too": {
			contention.Result{Probed: true, FirstDenied: true, Masters: contention.Masters{
				Free: 2, Largest: 3, TTLs: ms(13, 11, 12),
			}},
			contention.Plan{Delay: 11 * time.Millisecond, First: true, Held: true, Expiry: 11 * time.Millisecond},
		},
		"only the first master denied, and just a majority is free": {
			contention.Result{Probed: true, FirstDenied: true, Masters: contention.Masters{
				Free: 3, Largest: 2, TTLs: ms(13, 11),
			}},
			contention.Plan{Delay: jitter, First: true},
		},
		"a split vote": {
			denied(contention.Masters{Free: 1, Largest: 2, TTLs: ms(999, 999, 999, 999)}),
			contention.Plan{Delay: 2 * jitter, First: true},
		},
		"a majority is free again": {
			denied(contention.Masters{Free: 3, Largest: 2, TTLs: ms(999, 999)}),
			contention.Plan{Delay: 2 * jitter, First: true},
		},
		"a lock may have a majority": {
			denied(contention.Masters{Free: 1, Largest: 2, Failed: 1, Pending: 1, TTLs: ms(15, 16)}),
			contention.Plan{Delay: 15 * time.Millisecond, First: true, Held: true, Expiry: 15 * time.Millisecond},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, tt.want, backoff().Next(tt.result))
		})
	}
}

// After each split in a row the attempts spread over twice the time. A holder ends the row.
func TestSplitsInARow(t *testing.T) {
	t.Parallel()
	c := afterFailures(backoff())
	split, held := denied(contention.Masters{Free: 1, Largest: 2}), denied(contention.Masters{Largest: 5})
	next := func(r contention.Result) time.Duration { return c.Next(r).Delay.Round(time.Millisecond) }
	inARow := []time.Duration{next(split), next(split), next(split)}
	assert.Equal(t, ms(20, 40, 80), inARow)
	assert.Equal(t, time.Second, next(held))
	assert.Equal(t, 20*time.Millisecond, next(split))
	for range 100 {
		assert.Positive(t, c.Next(split).Delay)
	}
	assert.Equal(t, time.Second, c.Next(split).Delay, "the back-off is the bound")
}

// A first master that denies twice while a majority is free holds a stale key, so the next attempt asks all at once.
func TestAFirstMasterThatDeniesAlone(t *testing.T) {
	t.Parallel()
	c := backoff()
	alone := denied(contention.Masters{Free: 4, Largest: 1, TTLs: ms(999)})
	alone.FirstDenied = true
	first := func() (plans []bool) {
		for range 4 {
			plan := c.Next(alone)
			assert.Less(t, plan.Delay, 10*time.Millisecond)
			assert.False(t, plan.Held)
			plans = append(plans, plan.First)
		}
		return plans
	}
	assert.Equal(t, []bool{true, false, true, false}, first())
	alone.FirstDenied = false
	assert.True(t, c.Next(alone).First)
	c.Next(denied(contention.Masters{Largest: 5}))
	alone.FirstDenied = true
	assert.Equal(t, []bool{true, false, true, false}, first(), "a holder ends the row")
}

// Without a source of its own, the policy takes random numbers from math/rand/v2.
func TestRandomDelays(t *testing.T) {
	t.Parallel()
	c := afterFailures(backoff())
	c.Random = nil
	delays := make(map[time.Duration]bool)
	for range 100 {
		delay := c.Next(contention.Result{}).Delay
		assert.GreaterOrEqual(t, delay, c.RetryMin)
		assert.LessOrEqual(t, delay, c.RetryMax)
		delays[delay] = true
	}
	assert.Greater(t, len(delays), 50)
}

// The bound of the back-off doubles with each failure.
func TestTheBackoff(t *testing.T) {
	t.Parallel()
	c := backoff()
	for _, want := range ms(20, 40, 80, 160, 320, 640, 1000, 1000) {
		assert.Equal(t, want, c.Next(contention.Result{}).Delay)
	}
	assert.Equal(t, time.Second, afterFailures(c).Next(contention.Result{}).Delay)
}

func TestTheBackoffOfLongTimes(t *testing.T) {
	t.Parallel()
	for _, shift := range []int{33, 34} { // times 2^30: negative, and zero
		c := backoff()
		c.RetryMin = 1 << shift
		c.RetryMax = 1 << 36
		assert.Equal(t, c.RetryMax, afterFailures(c).Next(contention.Result{}).Delay, "no overflow of %v", c.RetryMin)
	}
}
