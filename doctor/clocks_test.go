package doctor_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// clocked starts a server with a wall clock of its own.
func clocked(t *testing.T) (*redisproc.Server, *wallclock.Clock) {
	t.Helper()
	redisproc.Need(t)
	redisproc.SkipIf(t, wallclock.Available())
	var c *wallclock.Clock
	s, err := redisproc.StartWith(t.Context(), func(dir string) (redisproc.Options, error) {
		lib := filepath.Join(dir, "wallclock.so")
		if err := wallclock.Build(t.Context(), lib); err != nil {
			return redisproc.Options{}, err
		}
		var err error
		c, err = wallclock.New(dir)
		if err != nil {
			return redisproc.Options{}, err
		}
		return redisproc.Options{Env: []string{"LD_PRELOAD=" + lib, wallclock.EnvFile + "=" + c.File()}}, nil
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s, c
}

func TestClocksOfMasters(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		change   func(*wallclock.Clock) error
		why      string
		severity doctor.Severity
	}{
		"the clock drifts beyond the budget": {
			change:   func(c *wallclock.Clock) error { return c.Run(0.02) },
			why:      `it gains (19|20)\d{3} ppm .*, 1\.[89] of the drift budget|2\.0 of`,
			severity: doctor.Danger,
		},
		"the clock drifts": {
			change:   func(c *wallclock.Clock) error { return c.Run(-0.0075) },
			why:      `it gains -7\d{3} ppm`,
			severity: doctor.Warning,
		},
		"the clock stepped": {
			change: func(c *wallclock.Clock) error {
				time.Sleep(5 * time.Second) // during the examination
				return c.Jump(-300 * time.Millisecond)
			},
			why:      `steps during the examination: 1, the first by -(29|30)\dms`,
			severity: doctor.Danger,
		},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			server, own := clocked(t)
			changed := make(chan error, 1)
			locker := open(t, []string{server.URL()})
			go func() { changed <- c.change(own) }()
			report, err := examined(doctor.Examine(t.Context(), locker))
			require.NoError(t, err)
			require.NoError(t, <-changed)
			require.Equal(t, []string{title}, titles(report), "%v", report)
			assert.Equal(t, c.severity, report.Findings[0].Severity)
			assert.Regexp(t, c.why, report.Findings[0].Why)
		})
	}
}

// The drift that most masters agree on is this host's. The speed of Go's clock cannot be changed, but that of three
// masters can.
func TestADriftOfThisHost(t *testing.T) {
	t.Parallel()
	const title = "this host's clock runs at another speed"
	var urls []string
	for range 3 {
		server, own := clocked(t)
		require.NoError(t, own.Run(0.02))
		urls = append(urls, server.URL())
	}
	report, err := examined(doctor.Examine(t.Context(), open(t, urls)))
	require.NoError(t, err)
	require.Len(t, titled(report, title), 1, "%v", report)
	assert.Regexp(t, "gains -(19|20)", titled(report, title)[0].Why)

	at := func(rates ...float64) (all []doctor.Seen) {
		for i, r := range rates {
			all = append(all, doctor.Seen{Name: string(rune('a' + i)), Rate: r})
		}
		return all
	}
	report = judge(0, at(0.02, 0.021, 0)...)
	found := titled(report, title)
	require.Len(t, found, 1)
	assert.Empty(t, found[0].Node)
	assert.Contains(t, found[0].Why, "gains -2")
	assert.Empty(t, titled(report, "the clock drifts beyond the budget"), "no master is accused")
	report = judge(0, at(0.02, -0.02, 0)...)
	assert.Empty(t, titled(report, title))
	found = titled(report, "the clock drifts beyond the budget")
	require.Len(t, found, 1)
	assert.Len(t, found[0].Nodes, 2)
}

// This host's wall clock cannot be set by a test, so the step is given.
func TestAStepOfThisHostsWallClock(t *testing.T) {
	t.Parallel()
	const title = "this host's wall clock stepped"
	assert.Len(t, titled(judge(-time.Second), title), 1)
	assert.Empty(t, titled(judge(50*time.Millisecond), title))
}

// future is a clock of the year 2300.
type future struct{ clock.Clock }

func (f future) Now() time.Time { return f.Clock.Now().AddDate(274, 0, 0) }

func TestAWallClockOutOfRange(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	report := examine(t, []string{server.URL()}, redlock.WithClock(future{clock.System}))
	require.Len(t, titled(report, "this host's wall clock is out of range"), 1, "%v", report)
	assert.Empty(t, titled(examine(t, []string{server.URL()}), "this host's wall clock is out of range"))
}

func TestAShortSpan(t *testing.T) {
	t.Parallel()
	server := redisproc.ForTest(t, 1)[0]
	found := titled(examine(t, []string{server.URL()}), "the drift of clocks is not examined")
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Why, "the span was 200ms")
}
