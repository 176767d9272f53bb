package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

func TestEveryKindIsWhatItsRowSays(t *testing.T) {
	t.Parallel()
	urls := redlocktest.URLs(redlocktest.Start(t, quorumMasters))
	rows := map[string]struct {
		kind   string
		depth  int
		fenced bool
		names  int
	}{
		"mutex":           {kind: "mutex", depth: 1, names: 1},
		"mutex+fencing":   {kind: "mutex", depth: 1, names: 1, fenced: true},
		"reader":          {kind: "reader", depth: 1, names: 1},
		"writer":          {kind: "writer", depth: 1, names: 1},
		"reentrant":       {kind: "reentrant", depth: 1, names: 1},
		"reentrant inner": {kind: "reentrant", depth: 2, names: 1},
		"three names":     {kind: "mutex", depth: 1, names: 3},
	}
	assert.Len(t, allKinds(), len(rows))
	for name, want := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			picked, err := pick(allKinds(), name)
			require.NoError(t, err)
			opened, err := picked[0].open(urls, openOptions{ttl: time.Minute})
			require.NoError(t, err)
			defer func() { assert.NoError(t, opened.Close()) }()
			p := opened.(*kindPairer)

			for range 2 { // an inner hold is one from the first pair on, and stays one
				lock, err := p.take(t.Context(), p, name+":1")
				require.NoError(t, err)
				assert.Equal(t, want.fenced, lock.Fence() > 0)
				names := strings.Split(lock.Name(), ",")
				assert.Len(t, names, want.names)
				for _, held := range names {
					h, err := p.locker.Inspect(t.Context(), held)
					require.NoError(t, err)
					assert.Equal(t, want.kind, h.Kind)
					assert.Equal(t, want.depth, h.Depth)
				}
				require.NoError(t, lock.Unlock(t.Context()))
			}
		})
	}
}

// kindsReport is a kinds part of two kinds, the second twice as slow and not without failures.
func kindsReport() *report {
	round := func(us float64, failed int64) figures {
		f := figures{PairMicros: us, P50: us, P99: 2 * us, Allocs: 40, Pairs: 1000, Failed: failed}
		if failed > 0 {
			f.Failure = "lock: deadline"
		}
		return f
	}
	return &report{Kinds: []*row{
		{Callers: 1, Contestant: plain, Rounds: []figures{round(100, 0), round(200, 0)}},
		{Callers: 1, Contestant: "writer", Rounds: []figures{round(200, 0), round(400, 7)}},
		{Callers: 64, Contestant: plain, Rounds: []figures{round(10, 0), round(10, 0)}},
		{Callers: 64, Contestant: "writer", Rounds: []figures{round(15, 0), round(25, 0)}},
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
	assert.Zero(t, short(judge(r, false)), "7 of many thousands")
	r.Kinds[3].Rounds[0].Failed = 100
	assert.Equal(t, 1, short(judge(r, false)))
}
