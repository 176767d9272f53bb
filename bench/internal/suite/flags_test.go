package suite

import (
	"bytes"
	"flag"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

func TestBadFlagsAreRefusedByName(t *testing.T) {
	t.Parallel()
	for want, args := range map[string][]string{
		`there is no part "smoke"; there are latency, kinds, wan, contention, slots, faults, scale`: {"smoke"},
		`-callers "1,x": "x" is not a number`:                                                       {"-callers", "1,x"},
		`-callers "0": "0" is not a number from 1`: {
			"latency", "-callers", "0",
		},
		"-rounds -1: at least 1":                               {"-rounds", "-1"},
		"-slice 1µs: at least 1ms":                             {"-slice", "1us"},
		"-ttl 10ms: at least 1s":                               {"-ttl", "10ms"},
		"-pool -1: at least 1":                                 {"-pool", "-1"},
		"-locks -1: at least 1":                                {"scale", "-locks", "-1"},
		"-rate -5: above 0":                                    {"-rate", "-5"},
		`-profiles: there is no "moon"; there are one-region`:  {"-profiles", "moon"},
		`-scenarios: there is no "flood"; there are frozen-2s`: {"-scenarios", "flood"},
		`-shapes "8x": "8x" is not PROCESSESxGOROUTINES`:       {"-shapes", "8x"},
		`-shapes "0x4": "0x4" is not PROCESSESxGOROUTINES`:     {"-shapes", "0x4"},
		"-compare takes two files":                             {"-compare", "one.json"},
		"-containers and -masters: one of the two": {
			"-containers", "-masters", "redis://a",
		},
		"-masters: 2 of them; one, or an odd number":                      {"-masters", "redis://a,redis://b"},
		`no contestant is called "redsink"; there are redlock, redlock-1`: {"-contestants", "redsync,redsink"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, err := parse(args, io.Discard)
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestHelpNamesEveryPartAndFlag(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	_, err := parse([]string{"-h"}, &out)
	require.ErrorIs(t, err, flag.ErrHelp)
	for _, name := range []string{
		"-callers", "-check", "-compare", "-containers", "-contestants", "-cpuprofile", "-html", "-json", "-locks",
		"-masters",
		"-memprofile", "-pictures", "-pool", "-profiles", "-rate", "-read", "-rounds", "-save", "-scenarios", "-shapes",
		"-slice", "-smoke", "-ttl",
	} {
		assert.Contains(t, out.String(), "\n  "+name)
	}
	for _, p := range allParts() {
		assert.Contains(t, out.String(), "\n  "+p.name+" ")
	}
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	full, err := parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Len(t, full.parts, len(allParts()), "all parts")
	assert.Equal(t, 9, full.mastersNeeded(), "masters")
	assert.Equal(t, []int{1, 8, 64, 512}, full.callers)
	assert.Equal(t, 512, full.pool, "no caller of a peer waits for a connection")
	assert.GreaterOrEqual(t, full.rounds, 5)
	assert.Equal(t, report.FullLocks, full.locks)
	assert.Len(t, full.profiles, len(allProfiles()))

	smoke, err := parse([]string{"-smoke", "-callers", "8, 2"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []int{8, 2}, smoke.callers)
	assert.Less(t, smoke.locks, full.locks)
	assert.Len(t, smoke.profiles, 1)
	assert.Equal(t, full.ttl, smoke.ttl)
}

func TestPartsAndFlagsStandInAnyOrder(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"wan", "faults", "-rounds", "2", "-json"},
		{"-rounds", "2", "wan", "-json", "faults"},
		{"--json", "faults", "--rounds=2", "wan"},
	} {
		s, err := parse(args, io.Discard)
		require.NoError(t, err)
		assert.True(t, s.files.JSON)
		assert.Equal(t, 2, s.rounds)
		assert.Equal(
			t, []string{"wan", "faults"}, []string{s.parts[0].name, s.parts[1].name}, "in the order in which they run",
		)
	}
	compare, err := parse([]string{"--compare", "old.json", "new.json"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, []string{"old.json", "new.json"}, compare.compare)
}

func TestASmallerSetOfMastersIsEnoughForOneContestant(t *testing.T) {
	t.Parallel()
	s, err := parse([]string{"latency", "-contestants", "redislock,redlock"}, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 5, s.mastersNeeded())
	picked := latencyContestants(s)
	assert.Equal(
		t, []string{peers.Redlock, peers.Redislock}, []string{picked[0].Name, picked[1].Name}, "in the report's order",
	)
}

func TestEveryTargetIsMeasuredByAPart(t *testing.T) {
	t.Parallel()
	for _, name := range report.MeasuredParts() {
		assert.True(t, slices.ContainsFunc(allParts(), func(p *part) bool { return p.name == name }), name)
	}
}
