package check_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// looks has three masters inspected, which have no keys.
func looks(ms int) string {
	return fmt.Sprintf("keys seen %d on=0; keys seen %d on=1; keys seen %d on=2; ", ms, ms, ms)
}

// Master 1 is frozen until 1090. All is settled at 1100, so that from 3100 on no key may be left.
func TestResidue(t *testing.T) {
	t.Parallel()
	const settled = "storm begins 0; pause lasts 10-1090 on=1; settled begins 1100; "
	rows{
		"nothing left":                    {settled + looks(3100), ""},
		"a ghost that is gone in time":    {settled + "keys seen 3099 on=1 left=orders ends=5s; " + looks(3100), ""},
		"more looks, and nothing in them": {settled + looks(3100) + looks(3200), ""},
		"fencing counters that end": {
			settled + looks(3100) + "keys seen 3101 on=1 left=redlock:fence:{orders} ends=1h", "",
		},

		"a ghost on the master that was frozen": {
			settled + looks(3101) + "keys seen 3100 on=1 left=orders ends=3900",
			`master 1 still holds "orders" (token "a:token", for 3.9s)`,
		},
		"a ghost that shows up after a clean look": {
			settled + looks(3100) + "keys seen 3200 on=2 left=orders ends=3900", "master 2 still holds",
		},
		"a fencing counter without an end": {
			settled + looks(3101) + "keys seen 3100 left=redlock:fence:{orders}",
			`master 0 still holds "redlock:fence:{orders}"`,
		},
		"a fencing counter and a lock": {
			settled + looks(3101) + "keys seen 3100 left=redlock:fence:{orders} ends=1h left=orders ends=3900",
			`master 0 still holds "orders"`,
		},
		"the intent of a writer": {
			settled + looks(3101) + "keys seen 3100 left=redlock:intents:{orders} ends=1h",
			`master 0 still holds "redlock:intents:{orders}"`,
		},
		"a key without a TTL": {settled + looks(3101) + "keys seen 3100 left=orders", "no TTL"},
		"a look that came too early to count": {
			settled + looks(3099), "master 0 was not inspected | master 1 was not inspected | master 2 was not inspected",
		},
		"a master that was not inspected": {
			settled + "keys seen 3100 on=0; keys seen 3100 on=1", "master 2 was not inspected",
		},
		"a master that returned later than the others, looked at too early": {
			settled + "pause healthy 1500 on=2; " + looks(3400), "master 2 was not inspected",
		},
		"a run that never settled": {"storm begins 0", "never settled"},
	}.judgedBy(t, on(check.Terms{Masters: 3, Grace: 2 * time.Second}, check.Residue))
}

// The clients have closed their lockers at 1000, so that from 3000 on nothing of them may be left at the two masters.
func TestLeaks(t *testing.T) {
	t.Parallel()
	const (
		closed = "settled begins 100; a quits 500; b quits 1000 life=1; "
		clean  = "sockets seen 3000 on=0; sockets seen 3000 on=1; "
	)
	rows{
		"nothing is left":                {closed + clean, ""},
		"clean at once":                  {closed + "sockets seen 1001 on=0; sockets seen 1001 on=1", ""},
		"a connection that goes in time": {closed + clean + "sockets seen 2999 connections=1", ""},
		"a connection that stays": {
			closed + clean + "sockets seen 3001 connections=1", "master 0 has 1 connections",
		},
		"one that stays and then goes": {
			closed + clean + "sockets seen 3001 connections=1; sockets seen 3002", "master 0 has 1 connections",
		},
		"one that was never seen to go": {
			closed + "sockets seen 2000 connections=1; sockets seen 3000 on=1", "master 0 has 1 connections",
		},
		"a subscription that stays": {
			closed + clean + "sockets seen 3001 on=1 channels=redlock:orders", "subscriptions [redlock:orders]",
		},
		"looked at before the last closed": {
			closed + "sockets seen 999 on=0; sockets seen 3000 on=1", "master 0 was not inspected for connections",
		},
		"connections before the last closed": {closed + clean + "sockets seen 999 connections=9", ""},
		"a master that returned later": {
			closed + "pause lasts 50-2000 on=1; sockets seen 3500 on=1 connections=1; sockets seen 4000 on=1;" +
				"sockets seen 3000 on=0", "",
		},
		"a master looked at before it returned": {
			closed + clean + "pause lasts 50-3001 on=1", "master 1 was not inspected for connections",
		},
		"a goroutine is left": {
			closed + clean + "b quits 900 goroutines=3", "b.0 closed its locker, and 3 goroutines of it are left",
		},
		"a life that was killed":     {closed + clean + "b holds 20-30", ""},
		"the last life said nothing": {closed + clean + "a asks 2000 life=1", "a.1 never closed its locker"},
		"a client without events":    {"settled begins 100; a quits 500; " + clean, "b.0 never closed"},
		"a run that never settled":   {"", "never settled"},
	}.judgedBy(t, on(check.Terms{Clients: []string{"a", "b"}, Masters: 2, Grace: 2 * time.Second}, check.Leaks))
}

func TestOutagesEndWithTheLastOfTheirKind(t *testing.T) {
	t.Parallel()
	events := handmade.History(`
		cut injected 1 on=0,1; cut injected 2 on=0; kill injected 3 on=0; cut healed 4 on=0,1; cut healthy 5 on=0;
		cut healthy 6 on=1; cut healthy 7 on=0; cut injected 8 on=0; calm begins 9`)
	outage := func(fault string, target, from, to time.Duration, open bool) check.Outage {
		return check.Outage{
			On: "masters", Fault: fault, Target: int(target),
			From: from * time.Millisecond, To: to * time.Millisecond, Open: open,
		}
	}
	assert.Equal(t, []check.Outage{
		outage("cut", 0, 1, 7, false), outage("cut", 1, 1, 6, false), outage("kill", 0, 3, 9, true),
		outage("cut", 0, 8, 9, true),
	}, check.Outages(events, history.Healthy))
	assert.Equal(t, outage("cut", 1, 1, 4, false), check.Outages(events, history.Heal)[1])
}
