package report

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
)

// kindsReport is a kinds part of two kinds, the second twice as slow and not without failures.
func kindsReport() *Report {
	round := func(us float64, failed int64) load.Figures {
		f := load.Figures{PairMicros: us, P50: us, P99: 2 * us, Allocs: 40, Pairs: 1000, Failed: failed}
		if failed > 0 {
			f.Failure = "lock: deadline"
		}
		return f
	}
	return &Report{Kinds: []*Row{
		{Callers: 1, Contestant: peers.Mutex, Rounds: []load.Figures{round(100, 0), round(200, 0)}},
		{Callers: 1, Contestant: "writer", Rounds: []load.Figures{round(200, 0), round(400, 7)}},
		{Callers: 64, Contestant: peers.Mutex, Rounds: []load.Figures{round(10, 0), round(10, 0)}},
		{Callers: 64, Contestant: "writer", Rounds: []load.Figures{round(15, 0), round(25, 0)}},
	}}
}

func TestKindsAreShownAgainstTheMutexOfTheirRound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	kindsReport().writeTables(&out)
	for _, want := range []string{
		"mutex 150.0 [100.0–200.0] 150 [100–200] 300 [200–400] 40 1.00",
		"writer 300.0 [200.0–400.0] 300 [200–400] 600 [400–800] 40 2.00",
		"writer 20.0 [15.0–25.0] 20 [15–25] 40 [30–50] 40 2.00 [1.50–2.50]",
		"writer, 1 caller: 7 of 2007 pairs failed, the first with: lock: deadline",
	} {
		assert.Contains(t, fields(out.String()), want)
	}
}

func TestFailuresOfKindsCountInTheCheck(t *testing.T) {
	t.Parallel()
	r := onTarget()
	r.Kinds = append(r.Kinds, kindsReport().Kinds...)
	assert.Zero(t, CountShort(judge(r, false)), "7 of many thousands")
	r.Kinds[3].Rounds[0].Failed = 100
	assert.Equal(t, 1, CountShort(judge(r, false)))
}
