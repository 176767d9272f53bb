package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

func TestLiveness(t *testing.T) {
	t.Parallel()
	const (
		one  = "calm begins 0; a gets 100 calm; "
		both = one + "b gets 200 calm; "
	)
	rows{
		"each acquires in time":              {one + "b gets 5000 calm", ""},
		"refused at first, acquired in time": {one + "b refused 200 calm err=held; b gets 5000 op=2 calm", ""},
		"one is late by a millisecond":       {one + "b gets 5001 calm", `b acquired "orders" only 5.001 s after`},
		"one is refused":                     {one + "b refused 4000 calm err=held-by-another", "held-by-another"},
		"a client without events":            {one, "nothing says why"},
		"one acquired during the storm only": {
			"calm begins 50; a gets 100 calm; b gets 40", "nothing says why",
		},
		"one acquired what it asked for in the storm": {one + "b gets 200", "nothing says why"},
		"one never gets what it asked for in another way": {
			both + "b refused 300 op=2 calm reader err=held", `b did not acquire "orders" as a reader within 5s`,
		},
		"one hangs as it asks in another way": {
			both + "b asks 300 op=2 calm reader", "as a reader within 5s after the storm, and nothing says why",
		},
		"one never gets a fencing token": {
			both + "b refused 400 op=2 calm fenced err=held", `b did not acquire "orders" with a fencing token`,
		},
		"one has it among several": {one + "b gets 200 calm names=orders,other", ""},
		"the storm never ended":    {"storm begins 0", "never came to the calm"},
	}.judgedBy(t, on(
		check.Terms{Clients: []string{"a", "b"}, Names: []string{handmade.Name}, Bound: 5 * time.Second}, check.Liveness,
	))
}

func TestCoverage(t *testing.T) {
	t.Parallel()
	const (
		begin = "storm begins 0; a gets 1-900; "
		end   = "; calm begins 100"
	)
	rows{
		"everything happened": {begin + "b gets 2 name=x; a extends 2-999; kill injected 4" + end, ""},
		"a client that held nothing": {
			begin + "a gets 2 op=2 name=x; a extends 2-999; kill injected 4" + end, "b never held",
		},
		"held after the storm only": {
			begin + "a gets 2 op=2 name=x; a extends 2-999; kill injected 4" + end + "; b gets 200", "b never held",
		},
		"a name that was never held": {
			begin + "b gets 2; a extends 2-999; kill injected 4" + end, `no client ever held "x"`,
		},
		"a fault that never came": {
			begin + "b gets 2 name=x; a extends 2-999; pause injected 4" + end,
			`the fault "kill" was planned and never injected`,
		},
		"no extension":         {begin + "b gets 2 name=x; kill injected 4" + end, "no lock was extended"},
		"no storm":             {"calm begins 100", "there was no storm"},
		"a storm without calm": {begin, "or it never ended"},
	}.judgedBy(t, on(check.Terms{
		Clients: []string{"a", "b"}, Names: []string{handmade.Name, "x"}, Planned: []string{"kill"}, Extends: true,
	}, check.Coverage))
}

// Failures count, whichever client reports them, and after the last unlock, too.
func TestFailuresOfTheHarnessAndOfClientsAreFound(t *testing.T) {
	t.Parallel()
	good := handmade.History("storm begins 1; c1 refused 1 err=held; calm begins 2; settled begins 3")
	for kind, checker := range map[history.Kind]judge{history.Broken: check.Broken, history.Failed: check.Clients} {
		assert.True(t, checker(good).Held(), kind)
		for _, client := range []string{"", "c1"} {
			v := checker(append(good, history.Event{T: time.Second, Kind: kind, Client: client, Err: "it did not end"}))
			require.Len(t, v.Findings, 1, kind)
			assert.Equal(t, "it did not end", v.Findings[0].Text)
		}
	}
}
