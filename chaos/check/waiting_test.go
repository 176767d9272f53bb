package check_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/check"
	"github.com/redlock-go/redlock/chaos/history"
)

// weather: of three masters two must vote; who waits for more than a second complains, and two seconds after an outage
// somebody must have each name.
var weather = check.Weather{
	Masters: 3, Clients: []string{"a", "b"}, Mute: []string{"pause"}, Forget: []string{"kill"}, Window: time.Second,
	Recovery: 2 * time.Second, Bound: time.Second, Retry: 100 * time.Millisecond,
}

// down is a fault of masters from one moment to another.
func (s *story) down(from, to float64, fault string, masters ...int) *story {
	for _, m := range masters {
		s.fault(from, history.Inject, fault, m).fault(to-1, history.Heal, fault, m).fault(to, history.Healthy, fault, m)
	}
	return s
}

func (s *story) refused(asked, told float64, client string, op int) *story {
	return s.add(asked, history.Invoked, client, op, nil).add(told, history.Refused, client, op, nil)
}

// busy is a name that others get again and again, and that nobody starves for.
func (s *story) busy(from, to float64) *story {
	for op := 100; from < to; op++ {
		s.held(from, from+10, from+390, "c", op)
		from += 400
	}
	return s
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		story *story
		says  string // "" if it holds
	}{
		"got in time":                 {new(story).held(0, 1000, 1100, "a", 1), ""},
		"got a moment too late":       {new(story).held(0, 1001, 1100, "a", 1), "waited for 1.001 s while a majority voted"},
		"refused within the bound":    {new(story).refused(0, 1000, "a", 1), ""},
		"refused after the bound":     {new(story).refused(0, 1001, "a", 1), "waited for 1.001 s"},
		"never answered":              {new(story).add(0, history.Invoked, "a", 1, nil).quits(1500, "a"), "waited for 1.500 s"},
		"killed while it waited":      {new(story).add(0, history.Invoked, "a", 1, nil).quits(1500, "b"), ""},
		"one master of three is down": {new(story).down(0, 5000, "pause", 0).held(1, 2000, 2100, "a", 1), "waited for 1.999 s"},
		"got too late, before two went down": {
			new(story).down(5000, 9000, "pause", 0, 1).refused(1000, 5500, "a", 1), "waited for 4.000 s",
		},
		"two are down, and not wanted": {new(story).down(1, 5000, "pause", 0, 1).refused(10, 4000, "a", 1), ""},
		"a fault that mutes nobody":    {new(story).down(1, 5000, "slow", 0, 1).refused(10, 1900, "a", 1), "waited for 1.890 s"},
		"two are back, and it takes all the time to recover": {
			new(story).down(1, 5000, "pause", 0, 1).held(10, 7000, 7100, "a", 1), "",
		},
		"two are back, and it takes longer": {
			new(story).down(1, 5000, "pause", 0, 1).held(10, 7001, 7100, "a", 1), "nobody had it",
		},
		"two came back empty, and may not vote for a while": {
			new(story).down(1, 5000, "kill", 0, 1).held(10, 8000, 8100, "a", 1), "",
		},
		"two came back empty, and vote for too long": {
			new(story).down(1, 5000, "kill", 0, 1).held(10, 8001, 8100, "a", 1), "nobody had it",
		},
		"one goes as the other comes back: for a moment there was no majority": {
			new(story).down(1, 5000, "pause", 0).down(5000, 9000, "pause", 1).refused(4500, 5600, "a", 1), "",
		},
		"one goes after the other is back": {
			new(story).down(1, 4999, "pause", 0).down(5000, 9000, "pause", 1).refused(4500, 5600, "a", 1), "waited for 1.100 s",
		},
		"after the outage another one has it all the time": {
			new(story).down(1, 5000, "pause", 0, 1).kept(0, 0.5, 7500, "b", 1).held(6900, 7600, 7700, "a", 1), "",
		},
		"after the outage the others try again and again in vain": {
			new(story).down(1, 5000, "pause", 0, 1).refused(4900, 5800, "a", 1).refused(5850, 6800, "b", 1).refused(6900, 7100, "a", 2), "nobody had it",
		},
		"after the outage nobody asks for a while": {
			new(story).down(1, 5000, "pause", 0, 1).refused(4900, 5800, "a", 1).refused(6800, 7100, "a", 2), "",
		},
		"a waiter was frozen": {
			new(story).onClient(100, history.Inject, 0).onClient(1900, history.Heal, 0).held(0, 2000, 2100, "a", 1), "",
		},
		"another one was": {
			new(story).onClient(100, history.Inject, 1).onClient(1900, history.Heal, 1).held(0, 2000, 2100, "a", 1), "waited for 2.000 s",
		},
		"others get it again and again, and no majority is known to vote": {
			new(story).down(1, 9000, "pause", 0, 1).busy(10, 3000).refused(20, 3000, "a", 1), "others got the name 7 times",
		},
		"others get it for as long as the bound": {
			new(story).down(1, 9000, "pause", 0, 1).busy(10, 1000).refused(20, 1300, "a", 1), "",
		},
		"others get other names": {
			new(story).down(1, 9000, "pause", 0, 1).busy(10, 3000).add(20, history.Invoked, "a", 1, several("x", "y")).
				add(3000, history.Refused, "a", 1, several("x", "y")), "",
		},
		"others get one of several": {
			new(story).down(1, 9000, "pause", 0, 1).busy(10, 3000).add(20, history.Invoked, "a", 1, several(lockName, "y")).
				add(3000, history.Refused, "a", 1, several(lockName, "y")), "others got the name",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Waiting(tt.story.events, weather)
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
	w := weather
	w.Bound = 3 * time.Second
	outage := new(story).down(250, 5250, "pause", 0, 1).refused(50, 5500, "a", 1)
	around := outage.held(100, 110, 200, "c", 1).held(100, 5300, 5400, "c", 2)
	assert.Empty(t, check.Waiting(around.events, w).Findings, "nobody got it in between")

	meanwhile := new(story).down(250, 5250, "pause", 0, 1).refused(50, 5500, "a", 1).busy(100, 5400)
	v := check.Waiting(meanwhile.events, w)
	require.NotEmpty(t, v.Findings)
	assert.Contains(t, v.Findings[0].Text, "others got the name")
}

// A name whose locks are short is not waited for as long as one whose locks are long.
func TestAWaitIsBoundedByTheTTLsOfItsName(t *testing.T) {
	t.Parallel()
	w := weather
	w.TTLs, w.Recovery = 2, time.Minute // the TTL of the story is a second
	long := func(e *history.Event) { e.Name, e.TTL = "long", 5*time.Second }
	for name, tt := range map[string]struct {
		story *story
		says  string // "" if it holds
	}{
		"two TTLs longer":            {new(story).refused(0, 3000, "a", 1), ""},
		"longer than that":           {new(story).refused(0, 3001, "a", 1), "waited for 3.001 s while a majority voted, allowed are 3s"},
		"beside a name of long ones": {new(story).refused(0, 3001, "a", 1).held(0, 10, 20, "b", 1, long), "allowed are 3s"},
		"the TTL of another on the name counts": {
			new(story).refused(0, 3001, "a", 1).held(0, 10, 20, "b", 1, func(e *history.Event) { e.TTL = 2 * time.Second }), "",
		},
		"one of several names has long ones": {
			new(story).add(0, history.Invoked, "a", 1, several("x", "long")).add(3001, history.Refused, "a", 1, several("x", "long")).
				held(0, 10, 20, "b", 1, long), "",
		},
		"others get it again and again": {
			new(story).down(1, 9000, "pause", 0, 1).busy(10, 4000).refused(20, 3000, "a", 1), "",
		},
		"and for longer than that": {
			new(story).down(1, 9000, "pause", 0, 1).busy(10, 4000).refused(20, 4000, "a", 1), "others got the name 9 times; allowed are 3s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := check.Waiting(tt.story.events, w)
			if tt.says == "" {
				assert.Empty(t, v.Findings)
				return
			}
			require.NotEmpty(t, v.Findings)
			assert.Contains(t, v.Findings[0].Text, tt.says)
		})
	}
}
