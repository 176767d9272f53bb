package clock_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/testmain"
)

func TestDriftIsAShareOfTheTTLAndALittleMore(t *testing.T) {
	t.Parallel()
	type testCase struct {
		drift clock.Drift
		ttl   time.Duration
		want  time.Duration
	}
	testmain.Each(t, map[string]testCase{
		"the page's budget":   {clock.DefaultDrift, 10 * time.Second, 102 * time.Millisecond},
		"a short TTL":         {clock.DefaultDrift, 100 * time.Millisecond, 3 * time.Millisecond},
		"an hour":             {clock.DefaultDrift, time.Hour, 36*time.Second + 2*time.Millisecond},
		"no TTL":              {clock.DefaultDrift, 0, 2 * time.Millisecond},
		"nothing is budgeted": {clock.Drift{}, time.Minute, 0},
		"only a share":        {clock.Drift{Factor: 0.5}, time.Minute, 30 * time.Second},
		"only a little":       {clock.Drift{Least: time.Second}, time.Minute, time.Second},
		"a hundred days":      {clock.DefaultDrift, 2400 * time.Hour, 24*time.Hour + 2*time.Millisecond},
	}, func(t *testing.T, c testCase) {
		assert.InDelta(t, c.want, c.drift.Of(c.ttl), float64(time.Nanosecond))
	})
}

func TestTheBudgetCoversAFasterClock(t *testing.T) {
	t.Parallel()
	for _, ttl := range []time.Duration{time.Second, 10 * time.Second, time.Hour} {
		// The master's clock gains one percent on the client's: its TTL ends earlier by that.
		ends := time.Duration(math.Floor(float64(ttl) / 1.01))
		assert.LessOrEqual(t, ttl-clock.DefaultDrift.Of(ttl), ends, ttl.String())
	}
}
