package main

import (
	"bytes"
	"flag"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBadFlagsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`"smoke" is not a flag`:                            {"smoke"},
		`-callers "1,x": "x" is not a number`:              {"-callers", "1,x"},
		`-callers "0": "0" is not a number from 1`:         {"-callers", "0"},
		"-rounds -1: at least 1":                           {"-rounds", "-1"},
		"-slice 1µs: at least 1ms":                         {"-slice", "1us"},
		"-ttl 10ms: at least 1s":                           {"-ttl", "10ms"},
		"-pool -1: at least 1":                             {"-pool", "-1"},
		"-check needs the latency part and the frozen one": {"-check", "-frozen"},
		`no contestant is called "redsink"; there are redlock, redlock-1, redsync, redsync-failfast, redislock`: {"-contestants", "redsync,redsink"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := parse(args, discard)
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestHelpNamesEveryFlag(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	_, err := parse([]string{"-h"}, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, name := range []string{
		"-callers", "-check", "-contestants", "-cpuprofile", "-frozen", "-json", "-kinds", "-latency", "-memprofile", "-pool", "-rounds", "-slice", "-smoke", "-ttl",
	} {
		assert.Contains(t, out.String(), "\n  "+name)
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	full, err := parse(nil, discard)
	require.NoError(t, err)
	assert.True(t, full.latency && full.kinds && full.frozen, "all parts")
	assert.Len(t, full.contestants, 5)
	assert.Equal(t, []int{1, 64, 512}, full.latencyPlan.callers)
	assert.Equal(t, 512, full.pool, "no caller of a peer waits for a connection")
	assert.GreaterOrEqual(t, full.latencyPlan.rounds, 5)
	planned := full.latencyPlan.estimate(5) + full.kindsPlan.estimate(len(allKinds())) + full.frozenPlan.estimate()
	assert.Greater(t, planned, 2*time.Minute)
	assert.Less(t, planned, 4*time.Minute)

	smoke, err := parse([]string{"-smoke", "-callers", "8, 2"}, discard)
	require.NoError(t, err)
	assert.Equal(t, []int{8, 2}, smoke.latencyPlan.callers)
	assert.Less(t, smoke.latencyPlan.estimate(5)+smoke.kindsPlan.estimate(len(allKinds()))+smoke.frozenPlan.estimate()+smoke.ttl, 25*time.Second)
	assert.Equal(t, full.ttl, smoke.ttl)

	one, err := parse([]string{"-frozen", "-contestants", "redislock,redlock"}, discard)
	require.NoError(t, err)
	assert.True(t, one.frozen && !one.latency && !one.kinds)
	assert.Equal(t, []string{ours, singleMaster}, []string{one.contestants[0].Name, one.contestants[1].Name}, "in the report's order")
}
