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

// probed is a run in which locks with the given TTL were asked for behind the frozen master 1, one of them taken and
// released, the other refused. The master thawed at 1000 ms; all was settled at 1100 ms.
func probed(ttl time.Duration) *builder { return frozen(10, 1000, ttl, ttl) }

// frozen is that run with other times of the freeze and the thaw, and a TTL for each lock; 0: it was not asked for.
func frozen(freeze, thaw float64, taken, refused time.Duration) *builder {
	with := func(ttl time.Duration) func(*history.Event) {
		return func(e *history.Event) { e.TTL, e.Until, e.Token = ttl, ttl, "a:token" }
	}
	s := new(builder).phase(0, history.Ghosts).fault(freeze, history.Inject, "pause", 1)
	if taken > 0 {
		s.add(20, history.Invoked, "a", 1, with(taken)).add(25, history.Acquired, "a", 1, with(taken)).unlocks(30, "a", 1)
	}
	if refused > 0 {
		s.add(20, history.Invoked, "b", 1, with(refused)).add(120, history.Refused, "b", 1, nil)
	}
	return s.fault(thaw, history.Heal, "pause", 1).fault(thaw+90, history.Healthy, "pause", 1).phase(1100, history.Settled)
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
		"fencing counters that end": looked(probed(6*time.Second), 3100).
			keys(3101, 1, history.Key{Name: "redlock:fence:{orders}", Left: time.Hour}),
		"what a fault wrote": looked(probed(6*time.Second), 3100).
			keys(3101, 1, history.Key{Name: history.JunkPrefix + "40", Left: -1}),
		"nothing left":                    looked(probed(6*time.Second), 3100),
		"a ghost that is gone in time":    looked(probed(6*time.Second).keys(3099, 1, ghost), 3100),
		"more looks, and nothing in them": looked(looked(probed(6*time.Second), 3100), 3200),
	}
	for name, s := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Residue(s.events, masters, grace)
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
			looked(probed(6*time.Second).keys(3100, 1, ghost), 3101),
			`master 1 still holds "orders" (token "a:token", for 3.9s)`,
		},
		"a ghost that shows up after a clean look": {
			looked(probed(6*time.Second), 3100).keys(3200, 2, ghost), "master 2 still holds",
		},
		"a fencing counter without an end": {
			looked(probed(6*time.Second).keys(3100, 0, history.Key{Name: "redlock:fence:{orders}", Left: -1}), 3101),
			`master 0 still holds "redlock:fence:{orders}"`,
		},
		"a lock and a fencing counter": {
			looked(
				probed(6*time.Second).keys(3100, 0, history.Key{Name: "redlock:fence:{orders}", Left: time.Hour}, ghost), 3101,
			),
			`master 0 still holds "orders"`,
		},
		"a lock and what a fault wrote": {
			looked(probed(6*time.Second).keys(3100, 0, history.Key{Name: history.JunkPrefix + "40", Left: -1}, ghost), 3101),
			`master 0 still holds "orders"`,
		},
		"the intent of a writer": {
			looked(probed(6*time.Second).keys(3100, 0, history.Key{Name: "redlock:intents:{orders}", Left: time.Hour}), 3101),
			`master 0 still holds "redlock:intents:{orders}"`,
		},
		"a key without a TTL": {
			looked(probed(6*time.Second).keys(3100, 0, eternal), 3101), "no TTL",
		},
		"a look that came too early to count": {
			looked(probed(6*time.Second), 3099), "master 0 was not inspected",
		},
		"a master that was not inspected": {
			probed(6*time.Second).keys(3100, 0).keys(3100, 1), "master 2 was not inspected",
		},
		"a master that returned later than the others, looked at too early": {
			looked(probed(6*time.Second).fault(1500, history.Healthy, "pause", 2), 3400), "master 2 was not inspected",
		},
		"a TTL so short that expiry explains everything": {
			looked(frozen(10, 1000, 2*time.Second, 6*time.Second), 3100), "no lock was taken while a master was frozen",
		},
		"a TTL of the refused lock so short that expiry explains it": {
			looked(frozen(10, 1000, 6*time.Second, 3*time.Second), 3100), "no lock was refused while masters were frozen",
		},
		"no lock taken while a master was frozen": {looked(frozen(10, 1000, 0, 6*time.Second), 3100), "no lock was taken"},
		"no lock refused while masters were frozen": {
			looked(frozen(10, 1000, 6*time.Second, 0), 3100), "no lock was refused",
		},
		"locks asked for before the freeze": {
			looked(frozen(500, 1000, 6*time.Second, 6*time.Second), 3100), "no lock was taken",
		},
		"locks asked for only after the thaw": {
			looked(frozen(10, 15, 6*time.Second, 6*time.Second), 3100), "no lock was taken",
		},
		"a run that never settled": {new(builder).phase(0, history.Storm), "never settled"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Residue(tt.builder.events, masters, grace)
			require.False(t, v.Held())
			says := v.Undecided
			if len(v.Findings) > 0 {
				says = v.Findings[0].Text
			}
			assert.Contains(t, says, tt.says)
		})
	}
}
