package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTablesShowMediansSpreadsAndRatios(t *testing.T) {
	t.Parallel()
	r := onTarget()
	r.row(64, peer).Rounds[2].Failed = 7
	r.row(64, peer).Rounds[2].Failure = "lock: deadline"
	r.Frozen.Cycles[1].Left, r.Frozen.Cycles[1].Few = 2, []string{"frozen:a", "frozen:b"}
	r.Checks = judge(r, noSlack)
	var out bytes.Buffer
	r.writeTables(&out)

	for _, want := range [][]string{
		{"redlock", "5", "40.0", "[30.0–50.0]", "2560", "[1920–3200]", "5120", "[3840–6400]", "41", "[40–42]", "4.00", "0.50", "[0.40–0.67]"},
		{"redsync", "5", "160.0", "[120.0–200.0]", "10240", "[7680–12800]", "20480", "[15360–25600]", "41", "[40–42]", "–", "0.12", "[0.10–0.17]"},
		{"redislock", "1", "20.0", "1280", "2560", "41", "[40–42]", "8.00", "[6.00–10.00]", "–"},
		{"redsync,", "64", "callers:", "7", "of", "3007", "pairs", "failed,", "the", "first", "with:", "lock:", "deadline"},
		{"Lock", "100", "300", "3.00"},
		{"left:", "frozen:a,", "frozen:b"},
		{"keys", "left", "on", "it", "2", "s", "after", "it", "thawed", "0", "2", "SHORT"},
		{"1", "caller:", "time,", "×", "redsync's", "≤", "1.00", "1.00", "ok"},
	} {
		assert.Contains(t, fields(out.String()), strings.Join(want, " "))
	}
}

// fields are the lines of text with their spaces reduced to one.
func fields(text string) (lines []string) {
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return lines
}

func TestABusyMachineIsNamed(t *testing.T) {
	t.Parallel()
	for load, named := range map[float64]bool{0: false, 0.4: false, 3: true} {
		r := onTarget()
		r.Setup.Load = load
		var out bytes.Buffer
		r.writeTables(&out)
		assert.Equal(t, named, strings.Contains(out.String(), "others were at work"), "load average %v", load)
	}
}

func TestTableAlignsByCharactersNotBytes(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	table{{"", "µs/pair"}, {"Lock", "1"}, {"ünlock", "22.0 [1–2]"}}.write(&out)
	assert.Equal(t, "             µs/pair\n  Lock             1\n  ünlock  22.0 [1–2]\n", out.String())
}

func TestRowsWithoutTheirBaseHaveNoRatio(t *testing.T) {
	t.Parallel()
	r := &report{Latency: rows(map[string]map[int][]float64{ours: {1: {10}}})}
	var out bytes.Buffer
	r.writeTables(&out)
	assert.Contains(t, fields(out.String()), "redlock 5 10.0 10 20 40 – –")
}

func TestJSONHoldsEveryRound(t *testing.T) {
	t.Parallel()
	r := onTarget()
	var out bytes.Buffer
	require.NoError(t, r.writeJSON(&out))
	var back report
	require.NoError(t, json.Unmarshal(out.Bytes(), &back))
	assert.Equal(t, r.Latency, back.Latency)
	assert.Equal(t, r.Frozen, back.Frozen)
}
