package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// availability: of three masters two must vote; who waits for more than a second complains, and two seconds after an
// outage somebody must have each name.
var availability = check.Availability{
	Masters: 3, Clients: []string{"a", "b"}, Mute: []string{"pause"}, Forget: []string{"kill"}, Window: time.Second,
	Recovery: 2 * time.Second, Idle: 10 * time.Second, Bound: time.Second, Retry: 100 * time.Millisecond,
}

// down is a fault of masters from one moment to another.
func (s *builder) down(from, to float64, fault string, masters ...int) *builder {
	for _, m := range masters {
		s.fault(from, history.Inject, fault, m).fault(to-1, history.Heal, fault, m).fault(to, history.Healthy, fault, m)
	}
	return s
}

func (s *builder) refused(asked, answered float64, client string, op int) *builder {
	return s.add(asked, history.Invoked, client, op, nil).add(answered, history.Refused, client, op, nil)
}

// busy is a name that others get again and again, and for which no client starves.
func (s *builder) busy(from, to float64) *builder {
	for op := 100; from < to; op++ {
		s.held(from, from+10, from+390, "c", op)
		from += 400
	}
	return s
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"got in time":                 {new(builder).held(0, 1000, 1100, "a", 1), ""},
		"got a moment too late":       {new(builder).held(0, 1001, 1100, "a", 1), "waited for 1.001 s while a majority voted"},
		"refused within the bound":    {new(builder).refused(0, 1000, "a", 1), ""},
		"refused after the bound":     {new(builder).refused(0, 1001, "a", 1), "waited for 1.001 s"},
		"never answered":              {new(builder).add(0, history.Invoked, "a", 1, nil).quits(1500, "a"), "waited for 1.500 s"},
		"killed while it waited":      {new(builder).add(0, history.Invoked, "a", 1, nil).quits(1500, "b"), ""},
		"one master of three is down": {new(builder).down(0, 5000, "pause", 0).held(1, 2000, 2100, "a", 1), "waited for 1.999 s"},
		"got too late, before two went down": {
			new(builder).down(5000, 9000, "pause", 0, 1).refused(1000, 5500, "a", 1), "waited for 4.000 s",
		},
		"two are down, and not wanted": {new(builder).down(1, 5000, "pause", 0, 1).refused(10, 4000, "a", 1), ""},
		"a fault that mutes no master": {new(builder).down(1, 5000, "slow", 0, 1).refused(10, 1900, "a", 1), "waited for 1.890 s"},
		"two are back, and it takes all the time to recover": {
			new(builder).down(1, 5000, "pause", 0, 1).held(10, 7000, 7100, "a", 1), "",
		},
		"two are back, and it takes longer": {
			new(builder).down(1, 5000, "pause", 0, 1).held(10, 7001, 7100, "a", 1), "no client had it",
		},
		"two came back empty, and may not vote for a while": {
			new(builder).down(1, 5000, "kill", 0, 1).held(10, 8000, 8100, "a", 1), "",
		},
		"two came back empty, and vote for too long": {
			new(builder).down(1, 5000, "kill", 0, 1).held(10, 8001, 8100, "a", 1), "no client had it",
		},
		"one goes as the other comes back: for a moment there was no majority": {
			new(builder).down(1, 5000, "pause", 0).down(5000, 9000, "pause", 1).refused(4500, 5600, "a", 1), "",
		},
		"one goes after the other is back": {
			new(builder).down(1, 4999, "pause", 0).down(5000, 9000, "pause", 1).refused(4500, 5600, "a", 1), "waited for 1.100 s",
		},
		"after the outage another one has it all the time": {
			new(builder).down(1, 5000, "pause", 0, 1).kept(0, 0.5, 7500, "b", 1).held(6900, 7600, 7700, "a", 1), "",
		},
		"after the outage the others fail again and again": {
			new(builder).down(1, 5000, "pause", 0, 1).refused(4900, 5800, "a", 1).refused(5850, 6800, "b", 1).refused(6900, 7100, "a", 2), "no client had it",
		},
		"after the outage no client asks for a while": {
			new(builder).down(1, 5000, "pause", 0, 1).refused(4900, 5800, "a", 1).refused(6800, 7100, "a", 2), "",
		},
		"a waiter was frozen": {
			new(builder).onClient(100, history.Inject, 0).onClient(1900, history.Heal, 0).held(0, 2000, 2100, "a", 1), "",
		},
		"another one was": {
			new(builder).onClient(100, history.Inject, 1).onClient(1900, history.Heal, 1).held(0, 2000, 2100, "a", 1), "waited for 2.000 s",
		},
		"a processor did not serve another one, and a second after that": {
			new(builder).starved(600, "b", 500).held(0, 2500, 2600, "a", 1), "",
		},
		"for less time than that": {new(builder).starved(600, "b", 500).held(0, 2501, 2600, "a", 1), "waited for 1.001 s"},
		"others get it again and again, and no majority is known to vote": {
			new(builder).down(1, 9000, "pause", 0, 1).busy(10, 3000).refused(20, 3000, "a", 1), "others got the name 7 times",
		},
		"others get it for as long as the bound": {
			new(builder).down(1, 9000, "pause", 0, 1).busy(10, 1000).refused(20, 1300, "a", 1), "",
		},
		"others get other names": {
			new(builder).down(1, 9000, "pause", 0, 1).busy(10, 3000).add(20, history.Invoked, "a", 1, several("x", "y")).
				add(3000, history.Refused, "a", 1, several("x", "y")), "",
		},
		"others get one of several": {
			new(builder).down(1, 9000, "pause", 0, 1).busy(10, 3000).add(20, history.Invoked, "a", 1, several(lockName, "y")).
				add(3000, history.Refused, "a", 1, several(lockName, "y")), "others got the name",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Waiting(tt.builder.events, availability)
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.NotEmpty(t, v.Findings)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}

func TestWaitingForAnOutageIsNotStarving(t *testing.T) {
	t.Parallel()
	w := availability
	w.Bound = 3 * time.Second
	outage := new(builder).down(250, 5250, "pause", 0, 1).refused(50, 5500, "a", 1)
	around := outage.held(100, 110, 200, "c", 1).held(100, 5300, 5400, "c", 2)
	assert.Empty(t, check.Waiting(around.events, w).Findings, "no client got it in between")

	meanwhile := new(builder).down(250, 5250, "pause", 0, 1).refused(50, 5500, "a", 1).busy(100, 5400)
	v := check.Waiting(meanwhile.events, w)
	require.NotEmpty(t, v.Findings)
	assert.Contains(t, v.Findings[0].Text, "others got the name")
}

// A name whose locks are short is not waited for as long as one whose locks are long.
func TestAWaitIsBoundedByTheTTLsOfItsName(t *testing.T) {
	t.Parallel()
	w := availability
	w.TTLs, w.Recovery = 2, time.Minute // the TTL of the builder is a second
	long := func(e *history.Event) { e.Name, e.TTL = "long", 5*time.Second }
	for name, tt := range map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"two TTLs longer":          {new(builder).refused(0, 3000, "a", 1), ""},
		"longer than that":         {new(builder).refused(0, 3001, "a", 1), "waited for 3.001 s while a majority voted, and others got the name 0 times; allowed are 3s"},
		"with a name of long ones": {new(builder).refused(0, 3001, "a", 1).held(0, 10, 20, "b", 1, long), "allowed are 3s"},
		"the TTL of another on the name counts": {
			new(builder).refused(0, 3001, "a", 1).held(0, 10, 20, "b", 1, func(e *history.Event) { e.TTL = 2 * time.Second }), "",
		},
		"one of several names has long ones": {
			new(builder).add(0, history.Invoked, "a", 1, several("x", "long")).add(3001, history.Refused, "a", 1, several("x", "long")).
				held(0, 10, 20, "b", 1, long), "",
		},
		"others get it again and again": {
			new(builder).down(1, 9000, "pause", 0, 1).busy(10, 4000).refused(20, 3000, "a", 1), "",
		},
		"and for longer than that": {
			new(builder).down(1, 9000, "pause", 0, 1).busy(10, 4000).refused(20, 4000, "a", 1), "others got the name 9 times; allowed are 3s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Waiting(tt.builder.events, w)
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.NotEmpty(t, v.Findings)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}

// finds asserts that a checker says that, once; "": that it finds nothing.
func finds(t *testing.T, v check.Verdict, says string) {
	t.Helper()
	if says == "" {
		assert.Empty(t, v.Findings)
		return
	}
	require.Len(t, v.Findings, 1)
	assert.Contains(t, v.Findings[0].Text, says)
}

// Who loses a few draws was out of luck.
func TestAWaitIsTooLongWhenOthersGotTheNameOften(t *testing.T) {
	t.Parallel()
	slow := func(s *builder) *builder { // others have it three times, the last time for long
		return s.busy(10, 900).held(1210, 1220, 3900, "c", 200).refused(20, 4000, "a", 1)
	}
	for name, tt := range map[string]struct {
		draws   int
		builder *builder
		says    string // "" if it holds
	}{
		"as often, while a majority voted":     {3, slow(new(builder)), "waited for 3.980 s"},
		"not as often, while a majority voted": {4, slow(new(builder)), ""},
		"as often, without one":                {9, new(builder).down(1, 9000, "pause", 0, 1).busy(10, 4000).refused(20, 4000, "a", 1), "others got the name 9 times"},
		"not as often, without one":            {10, new(builder).down(1, 9000, "pause", 0, 1).busy(10, 4000).refused(20, 4000, "a", 1), ""},
		"as often, in a short time":            {2, new(builder).busy(10, 1000).refused(20, 1000, "a", 1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := availability
			w.Draws = tt.draws
			v := check.Waiting(tt.builder.events, w)
			finds(t, v, tt.says)
		})
	}
}

func TestAWantedNameMustNotLieFree(t *testing.T) {
	t.Parallel()
	w := availability
	w.Bound, w.Idle = time.Minute, time.Second // the TTL of the builder is a second
	w.Recovery = 4 * time.Second
	for name, tt := range map[string]struct {
		builder *builder
		says    string // "" if it holds
	}{
		"for as long as is allowed": {new(builder).held(0, 2000, 2100, "a", 1), ""},
		"for longer":                {new(builder).held(0, 2001, 2100, "a", 1), "no client had it, while a client that wanted it ran for 2.001 s; allowed are 2s"},
		"after another has had it":  {new(builder).held(0, 10, 1000, "b", 1).refused(20, 3001, "a", 1), "ran for 2.001 s"},
		"while another has it":      {new(builder).held(0, 10, 1000, "b", 1).refused(20, 3000, "a", 1), ""},
		"but its waiter was frozen": {
			new(builder).onClient(100, history.Inject, 0).onClient(500, history.Heal, 0).held(0, 2400, 2500, "a", 1), "",
		},
		"but the harness did not run, and a second after that": {
			new(builder).stalled(600, "", 500).held(0, 3500, 3600, "a", 1), "",
		},
		"for less time than that": {new(builder).stalled(600, "", 500).held(0, 3501, 3600, "a", 1), "ran for 2.001 s"},
		"one waiter was frozen, another was not": {
			new(builder).onClient(100, history.Inject, 0).onClient(500, history.Heal, 0).held(0, 2400, 2500, "a", 1).
				refused(50, 2300, "b", 1), "ran for 2.400 s",
		},
		"the majority is back, and new": {new(builder).down(1, 5000, "pause", 0, 1).held(10, 9000, 9100, "a", 1), ""},
		"the majority has been back for a while": {
			new(builder).down(1, 5000, "pause", 0, 1).held(10, 6000, 8000, "b", 1).held(20, 11001, 11100, "a", 1),
			"ran for 2.001 s",
		},
		"its locks are longer": {
			new(builder).held(0, 2001, 2100, "a", 1, func(e *history.Event) { e.TTL = 2 * time.Second }), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Waiting(tt.builder.events, w)
			finds(t, v, tt.says)
		})
	}
}

// A reader of the verdict sees whether a wait could have been too long at all.
func TestTheLongestIntervalInWhichAWaitCountsIsReported(t *testing.T) {
	t.Parallel()
	storm := func(e *history.Event) { e.Phase = history.Storm }
	for name, tt := range map[string]struct {
		builder *builder
		says    string
	}{
		"all of it":        {new(builder).held(1000, 1500, 8000, "a", 1).refused(2000, 4000, "b", 1), "longer than 3.000 s"},
		"until two failed": {new(builder).refused(1000, 9000, "a", 1).down(6000, 8999, "pause", 0, 1), "longer than 5.000 s"},
		"since two are back, and for longer than they take": {
			new(builder).refused(1000, 9000, "a", 1).down(1500, 2500, "pause", 0, 1), "longer than 4.500 s",
		},
		"not when the machine was away": {new(builder).held(1000, 1500, 8000, "a", 1).refused(2000, 4000, "b", 1).starved(2500, "b", 500), "longer than 1.500 s"},
		"not from one phase into another": {
			new(builder).held(1000, 1500, 1600, "a", 1, storm).refused(3000, 4000, "a", 2), "longer than 1.000 s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Contains(t, check.Waiting(tt.builder.events, availability).Looked, "no interval in which they count was "+tt.says)
		})
	}
}
