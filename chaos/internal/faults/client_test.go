package faults_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/faults"
)

// clients record the commands that they get.
type clients struct {
	log        *[]string
	unkillable bool
}

func (c clients) say(format string, args ...any) error {
	*c.log = append(*c.log, fmt.Sprintf(format, args...))
	return nil
}

func (c clients) Kill(_ context.Context, i int) error {
	if c.unkillable {
		return errors.New("it lives")
	}
	return c.say("kill %d", i)
}
func (c clients) Start(_ context.Context, i int) error  { return c.say("start %d", i) }
func (c clients) Freeze(_ context.Context, i int) error { return c.say("freeze %d", i) }
func (c clients) Thaw(_ context.Context, i int) error   { return c.say("thaw %d", i) }
func (c clients) CanFreeze() error                      { return nil }

func (c clients) RunClock(_ context.Context, i int, gain float64) error {
	return c.say("clock %d %+.3f", i, gain)
}

func (c clients) SetCrashPoint(_ context.Context, i int, point string) error {
	return c.say("crash point %d %q", i, point)
}

func TestClientsAreToldWhatToDoToThemselves(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		faults.KillClient:          {"kill 1", "start 1"},
		faults.KillClientHolding:   {`crash point 1 "holding"`, "kill 1", "start 1"},
		faults.KillClientAcquiring: {`crash point 1 "acquiring"`, "kill 1", "start 1"},
		faults.KillClientReleasing: {`crash point 1 "releasing"`, "kill 1", "start 1"},
		faults.FreezeClient:        {"freeze 1", "thaw 1"},
		faults.FreezeClientHolding: {`crash point 1 "frozen-holding"`, `crash point 1 ""`},
		faults.DriftClient:         {"clock 1 -0.005", "clock 1 +0.000"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log []string
			f := client(t, clients{log: &log}, name)
			require.NoError(t, f.Available)
			require.NoError(t, f.Inject(t.Context(), 1))
			require.NoError(t, f.Heal(t.Context(), 1))
			assert.Equal(t, want, log)
		})
	}
	assert.InDelta(t, faults.Drift, faults.DriftOf(2), 0, "and every second clock gains, which costs the holder time")
}

func TestAClientThatDoesNotDieIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	var log []string
	f := client(t, clients{log: &log, unkillable: true}, faults.KillClientHolding)
	require.ErrorContains(t, f.Heal(t.Context(), 2), "it lives")
	assert.Empty(t, log)
}

func client(t *testing.T, c clients, name string) *faults.Fault {
	t.Helper()
	for _, f := range faults.Of(nil, c) {
		if f.Name == name {
			return f
		}
	}
	require.Fail(t, "no such fault", name)
	return nil
}
