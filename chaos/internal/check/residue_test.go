package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

const (
	masters = 3
	grace   = 2 * time.Second
)

// settled is a run in which master 1 was frozen, and thawed at 1000 ms. All was settled at 1100 ms.
func settled() *builder {
	return new(builder).phase(0, history.Storm).fault(10, history.Inject, "pause", 1).
		fault(1000, history.Heal, "pause", 1).fault(1090, history.Healthy, "pause", 1).phase(1100, history.Settled)
}

func looked(s *builder, ms float64) *builder {
	for m := range masters {
		s.keys(ms, m)
	}
	return s
}

func TestResidueHolds(t *testing.T) {
	t.Parallel()
	ghost := history.Key{Name: lockName, Token: "a:token", Left: 5 * time.Second}
	tests := map[string]*builder{
		"fencing counters that end": looked(settled(), 3100).
			keys(3101, 1, history.Key{Name: "redlock:fence:{orders}", Left: time.Hour}),
		"nothing left":                    looked(settled(), 3100),
		"a ghost that is gone in time":    looked(settled().keys(3099, 1, ghost), 3100),
		"more looks, and nothing in them": looked(looked(settled(), 3100), 3200),
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Residue(s.events, check.Terms{Masters: masters, Grace: grace})
			assert.True(t, v.Held(), "%v", v.Findings)
		})
	}
}

func TestResidueCatches(t *testing.T) {
	t.Parallel()
	ghost := history.Key{Name: lockName, Token: "a:token", Left: 3900 * time.Millisecond}
	eternal := history.Key{Name: lockName, Token: "1", Left: -1}
	tests := map[string]struct {
		builder *builder
		says    string
	}{
		"a ghost on the master that was frozen": {
			looked(settled().keys(3100, 1, ghost), 3101),
			`master 1 still holds "orders" (token "a:token", for 3.9s)`,
		},
		"a ghost that shows up after a clean look": {
			looked(settled(), 3100).keys(3200, 2, ghost), "master 2 still holds",
		},
		"a fencing counter without an end": {
			looked(settled().keys(3100, 0, history.Key{Name: "redlock:fence:{orders}", Left: -1}), 3101),
			`master 0 still holds "redlock:fence:{orders}"`,
		},
		"a lock and a fencing counter": {
			looked(
				settled().keys(3100, 0, history.Key{Name: "redlock:fence:{orders}", Left: time.Hour}, ghost), 3101,
			),
			`master 0 still holds "orders"`,
		},
		"the intent of a writer": {
			looked(settled().keys(3100, 0, history.Key{Name: "redlock:intents:{orders}", Left: time.Hour}), 3101),
			`master 0 still holds "redlock:intents:{orders}"`,
		},
		"a key without a TTL": {
			looked(settled().keys(3100, 0, eternal), 3101), "no TTL",
		},
		"a look that came too early to count": {
			looked(settled(), 3099), "master 0 was not inspected",
		},
		"a master that was not inspected": {
			settled().keys(3100, 0).keys(3100, 1), "master 2 was not inspected",
		},
		"a master that returned later than the others, looked at too early": {
			looked(settled().fault(1500, history.Healthy, "pause", 2), 3400), "master 2 was not inspected",
		},
		"a run that never settled": {new(builder).phase(0, history.Storm), "never settled"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Residue(tt.builder.events, check.Terms{Masters: masters, Grace: grace})
			require.False(t, v.Held())
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}
