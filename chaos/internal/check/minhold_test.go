package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// job makes an acquisition one with a minimum hold. It is valid until 1 s after it began, in the checker's eyes, so it
// began at 10 if it is kept until 1010.
func job(d time.Duration) func(*history.Event) {
	return func(e *history.Event) { e.MinHold = d }
}

func TestMinHold(t *testing.T) {
	t.Parallel()
	const d = 200 * time.Millisecond // from before the request: until 210 ms
	tests := map[string]struct {
		builder *builder
		says    string
	}{
		"within the time": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d)).unlocks(50, "a", 1).held(60, 205, 300, "b", 1),
			"was to stay taken for 200ms after a.0/worker 0/op 1 acquired it at 0.012 s, and b.0/worker 0/op 1 acquired it " +
				"at 0.205 s, 5ms too early",
		},
		"by the same client": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d)).unlocks(50, "a", 1).held(60, 61, 300, "a", 2), "149ms too early",
		},
		"by a client in its next life": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d)).unlocks(50, "a", 1).held(60, 61, 300, "a", 2, func(e *history.Event) {
				e.Life = 1
			}), "too early",
		},
		"one of several names": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d), several("orders", "x")).unlocks(50, "a", 1).held(60, 61, 300, "b", 1),
			"149ms too early",
		},
		"by a writer after a reader": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d), reader).unlocks(50, "a", 1).held(60, 61, 300, "b", 1, writer),
			"too early",
		},
		"by a reader after a writer": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d), writer).unlocks(50, "a", 1).held(60, 61, 300, "b", 1, reader),
			"too early",
		},
		"afterwards": {new(builder).kept(0, 12, 1010, "a", 1, job(d)).unlocks(50, "a", 1).held(60, 210, 300, "b", 1), ""},
		"held for longer": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d)).unlocks(250, "a", 1).held(60, 251, 300, "b", 1), "",
		},
		"another name": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d)).unlocks(50, "a", 1).held(60, 61, 300, "b", 1, several("x", "y")), "",
		},
		"the same owner": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d), owner("o")).unlocks(50, "a", 1).held(60, 61, 300, "b", 1, owner("o")),
			"",
		},
		"a reader after another": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d), reader).unlocks(50, "a", 1).held(60, 61, 300, "b", 1, reader), "",
		},
		"no minimum hold": {new(builder).kept(0, 12, 1010, "a", 1).unlocks(50, "a", 1).held(60, 61, 300, "b", 1), ""},
		"not unlocked":    {new(builder).kept(0, 12, 80, "a", 1, job(d)).held(60, 81, 300, "b", 1), ""},
		"an unlock that was not confirmed": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d)).unlocks(50, "a", 1).
				with(history.Released, "a", 1, func(e *history.Event) { e.Err = "no quorum" }).held(60, 100, 300, "b", 1), "",
		},
		"a permit": {
			new(builder).kept(0, 12, 1010, "a", 1, job(d), slots(2)).unlocks(50, "a", 1).held(60, 61, 300, "b", 1, slots(2)), "",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.MinHold(tt.builder.events)
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.Len(t, v.Findings, 1)
			assert.Contains(t, v.Findings[0].Text, tt.says)
			assert.Len(t, v.Findings[0].Events, 4)
		})
	}
}

func TestMinHoldCountsWhatItJudges(t *testing.T) {
	t.Parallel()
	s := new(builder).kept(0, 12, 1010, "a", 1, job(time.Second)).unlocks(50, "a", 1).
		kept(0, 1500, 2500, "b", 1, job(time.Second))
	assert.Contains(t, check.MinHold(s.events).Looked, "1 locks that were unlocked before")
}
