package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

func TestTablesShowMediansSpreadsAndRatios(t *testing.T) {
	t.Parallel()
	r := onTarget()
	RowOf(r.Latency, 64, peers.Redsync).Rounds[2].Failed = 7
	RowOf(r.Latency, 64, peers.Redsync).Rounds[2].Failure = "lock: deadline"
	r.faultNamed("frozen-5s").Left, r.faultNamed("frozen-5s").Few = 2, []string{"fault:a", "fault:b"}
	r.Checks = judge(r, false)
	var out bytes.Buffer
	r.writeTables(&out)

	for _, want := range []string{
		"redlock 5 30.0 [20.0–40.0] 1920 [1280–2560] 3840 [2560–5120] 30 6.00 0.67 [0.50–1.00] 0.33 [0.25–0.50]",
		"redlock-9 9 60.0 [40.0–80.0]",
		"bsm/redislock 1 20.0 1280 2560 41 [40–42] 9.00 [6.00–12.00] – 0.50",
		"redsync, 64 callers: 7 of 3007 pairs failed, the first with: lock: deadline",
		"redlock 256 1.25 1.50 0.00 0.00 1.25 1.50",
		"frozen for 5s redlock 0 1000 0 2500 250 0 2",
		"frozen for 5s, redlock: left, among others: fault:a, fault:b",
		"redlock-nohandover 0 80 0 0 0 1500 0.50 0.30",
		"1024 99 9 0 0 0s",
		"one of five frozen for 5 s: keys left on it 2 s after it thawed ≤ 0 2 SHORT",
		"1 caller: time, × redsync's ≤ 0.75 0.75 ok",
	} {
		assert.Contains(t, strings.Join(fields(out.String()), "\n"), want)
	}
}

// fields are the lines of text with their spaces reduced to one.
func fields(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

func TestTableAlignsByCharactersNotBytes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table{{"", "µs/pair"}, {"Lock", "1"}, {"ünlock", "22.0 [1–2]"}}.write(&out)
	assert.Equal(t, "             µs/pair\n  Lock             1\n  ünlock  22.0 [1–2]\n", out.String())
}

func TestRowsWithoutTheirBaseHaveNoRatio(t *testing.T) {
	t.Parallel()
	r := &Report{Latency: rows(map[string]map[int][]float64{peers.Redlock: {1: {10}}})}
	var out bytes.Buffer
	r.writeTables(&out)
	assert.Contains(t, strings.Join(fields(out.String()), "\n"), "redlock 5 10.0 10 20 40 – – –")
}

func TestJSONHoldsEveryRound(t *testing.T) {
	t.Parallel()
	r := onTarget()
	var out bytes.Buffer
	require.NoError(t, r.writeJSON(&out))
	var back Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	assert.Equal(t, r.Latency, back.Latency)
	assert.Equal(t, r.WAN, back.WAN)
	assert.Equal(t, r.Contention, back.Contention)
	assert.Equal(t, r.Scale, back.Scale)
	assert.Zero(t, CountShort(judge(&back, false)), "and is judged alike")
}
