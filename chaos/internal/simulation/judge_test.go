package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/handmade"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// judged returns a result with a history in the notation of package handmade.
func judged(s Schedule, text string) *Result {
	return &Result{Schedule: s, Events: handmade.History(text)}
}

// acquisition returns the call and the return of the only acquisition of a history.
func acquisition(text string) (asked, acquired history.Event) {
	events := handmade.History(text)
	return events[0], events[1]
}

// TestATokenIsPassedOn shows what excuses tokens out of order: the second hold of the finding has the token of a third
// hold, which it may share the name with.
func TestATokenIsPassedOn(t *testing.T) {
	t.Parallel()
	kept, evicts := Schedule{}, Schedule{Plan: []faults.Step{{Fault: EvictCounters}}}
	jumps := Schedule{Plan: []faults.Step{{Fault: SetClock}}}
	const (
		mutex  = "x keeps 4s-100s asked=3s #8"
		reader = "x keeps 4s-100s asked=3s reader #7"
		inner  = "y keeps 7s-100s asked=6s owner=o #7"
		before = "z keeps 2s-100s asked=1s owner=o #7"
	)
	for name, tt := range map[string]struct {
		schedule             Schedule
		first, second, third string
		excused              bool
	}{
		"from the owner's hold": {evicts, mutex, inner, "z keeps 6s-100s asked=2s owner=o #7", true},
		"from another reader": {
			evicts, mutex, "y keeps 7s-100s asked=6s reader #7", "z keeps 6s-100s asked=2s reader #7", true,
		},
		"where counters are kept":           {kept, mutex, inner, "z keeps 6s-100s asked=2s owner=o #7", false},
		"from a hold that was asked later":  {evicts, mutex, inner, "z keeps 6s-100s asked=5s owner=o #7", false},
		"from a hold with another token":    {evicts, mutex, inner, "z keeps 6s-100s asked=2s owner=o #6", false},
		"from another owner":                {evicts, mutex, inner, "z keeps 6s-100s asked=2s owner=p #7", false},
		"from a hold that began afterwards": {evicts, mutex, inner, "z keeps 8s-100s asked=2s owner=o #7", false},
		"from a hold that excludes all": {
			evicts, mutex, "y keeps 7s-100s asked=6s #7", "z keeps 6s-100s asked=2s #7", false,
		},
		"back from a reader, without exclusion": {jumps, reader, inner, before, true},
		"back from a reader, with exclusion":    {kept, reader, inner, before, false},
		"back from a reader before the owner":   {jumps, reader, inner, "z keeps 5s-100s asked=1s owner=o #7", false},
		"back from a reader with another token": {jumps, "x keeps 4s-100s asked=3s reader #8", inner, before, false},
		"back from a hold that is no reader":    {jumps, mutex, inner, before, false},
		"back from a writer that has the same token": {
			jumps, "x keeps 4s-100s asked=3s writer #7", inner, before, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(tt.schedule, tt.first+";"+tt.second+";"+tt.third)
			_, first := acquisition(tt.first)
			asked, second := acquisition(tt.second)
			found := check.Finding{Events: []history.Event{first, asked, second}}
			assert.Equal(t, tt.excused, r.passedOn(found))
			r.find(check.Verdict{Checker: check.ByFencing, Findings: []check.Finding{found}})
			assert.Equal(t, tt.excused, r.OK())
		})
	}
}

// TestOnlyTheOrderOfTokensIsExcused shows that no third hold excuses other findings of the same checker.
func TestOnlyTheOrderOfTokensIsExcused(t *testing.T) {
	t.Parallel()
	_, outer := acquisition("x keeps 4s-100s asked=3s owner=o #7")
	asked, inner := acquisition("y keeps 7s-100s asked=6s owner=o #8")
	_, without := acquisition("y keeps 7s-100s asked=6s owner=o")
	unlocks := handmade.History("x calls 9s owner=o")[0]
	for name, tt := range map[string]struct {
		finding []history.Event
		third   string
	}{
		"two tokens of one owner": {
			[]history.Event{outer, asked, inner, unlocks}, "z keeps 2s-100s asked=1s owner=o",
		},
		"the outer hold ends by itself": {
			[]history.Event{outer, asked, inner, outer}, "z keeps 2s-100s asked=1s owner=o #7",
		},
		"no token, though one was asked for": {[]history.Event{asked, without}, "z keeps 2s-100s asked=1s owner=o"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(Schedule{Plan: []faults.Step{{Fault: EvictCounters}}}, tt.third)
			r.Events = append(r.Events, tt.finding...)
			history.Sort(r.Events)
			assert.False(t, r.passedOn(check.Finding{Events: tt.finding}))
		})
	}
}

// A request that waits for the answers to those before it takes two round trips. If that is too long, a majority need
// not know the token of the owner's other hold.
func TestWhereTheTokensOfAnOwnerAreCompared(t *testing.T) {
	t.Parallel()
	for delay, compared := range map[time.Duration]bool{12: true, 13: false} {
		s := Schedule{
			Clients: []Client{{Timeout: 50 * time.Millisecond}},
			Plan:    []faults.Step{{Fault: SlowPath, Severity: faults.Severity{Delay: delay * time.Millisecond}}},
		}
		r := judged(s, "x keeps 2s-100s asked=1s owner=o #7; x keeps 4s-100s asked=3s op=2 owner=o #8")
		r.judge()
		assert.Equal(t, compared, !r.OK(), "%v: %v", delay, r.Found)
	}
}

// Where a fault breaks exclusion, a later leader may have a smaller term than an earlier one if it had asked for its
// leadership before the earlier one led. Otherwise it may not.
func TestASmallerTermOfAnEarlierCampaignIsExcused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault string // "" for none
		asked string
		found bool
	}{
		"no fault":                                {"", "5s", true},
		"a fault that breaks nothing":             {faults.PauseMaster, "5s", true},
		"a clock that is set":                     {SetClock, "5s", false},
		"a clock that jumps":                      {faults.ClockForward, "5s", false},
		"counters lost":                           {EvictCounters, "5s", false},
		"a clock that is set, and later campaign": {SetClock, "8s", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Schedule{Masters: 3, Clients: []Client{{Name: "x"}}, Storm: time.Minute}
			text := "x keeps 7s-100s asked=6s leader #8; x calls 8s; x keeps 9s-100s op=2 leader #7 asked=" + tt.asked
			if tt.fault != "" {
				s.Plan = []faults.Step{{Fault: tt.fault, On: faults.Masters, Targets: []int{0}}}
				text += ";" + tt.fault + " injected 4s"
			}
			r := judged(s, text)
			r.judge()
			assert.Equal(t, tt.found, slices.Contains(r.By(), check.ByFencing), "%v", r.Found)
		})
	}
}

func TestAliveFindsLossesOfLivingClients(t *testing.T) {
	t.Parallel()
	const lock = "x keeps 1s-10s keepalive; "
	dies := []faults.Step{{Fault: faults.FreezeClient, On: faults.Clients, Targets: []int{0}, For: time.Minute}}
	for name, tt := range map[string]struct {
		history string
		lost    error // of what a client is notified
		plan    []faults.Step
		found   bool
	}{
		"unlocked":                               {lock + "x calls 5s", nil, nil, false},
		"the deadline passed":                    {lock + "x calls 11s", nil, nil, true},
		"notified of a loss before the deadline": {lock + "x lost 5s; x calls 5s", redlock.ErrLost, nil, true},
		"the locker was closed":                  {lock + "x lost 5s; x calls 5s", redlock.ErrClosed, nil, false},
		"its context ended by the unlock":        {lock + "x calls 5s; x lost 6s", redlock.ErrLost, nil, false},
		"without keepalive":                      {"x keeps 1s-10s; x calls 11s", nil, nil, false},
		"of a client that died":                  {lock + "x calls 11s", nil, dies, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(Schedule{Clients: []Client{{Name: "x"}}, Storm: time.Minute, Plan: tt.plan}, tt.history)
			for i, e := range r.Events {
				if e.Kind == history.Lost {
					r.Events[i].Err = tt.lost.Error()
				}
			}
			r.checkNoLoss(check.Intervals(r.Events))
			assert.Equal(t, tt.found, !r.OK(), "%v", r.Found)
		})
	}
}

// TestAMinimumHoldKeepsOthersOut shows how long: also if the lock was unlocked in the moment of its acquisition.
func TestAMinimumHoldKeepsOthersOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		minHold string
		found   bool
	}{"none": {"0s", true}, "until the waiter comes": {"7s", false}, "for less time": {"3s", true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Schedule{Clients: []Client{{Name: "x", RetryMax: time.Second}}, Storm: time.Minute}
			r := judged(s, "x keeps 1s-100s min="+tt.minHold+"; x calls 1s; x keeps 8s-100s asked=1s op=2")
			r.checkWaits(check.Intervals(r.Events))
			assert.Equal(t, tt.found, !r.OK(), "%v", r.Found)
		})
	}
}

// TestAWaiterForSeveralNamesKeepsReadersOut shows how long: until its intent ends, which it renews only while readers
// hold the name, or until it no longer waits.
func TestAWaiterForSeveralNamesKeepsReadersOut(t *testing.T) {
	t.Parallel()
	const second = time.Second
	s := Schedule{Clients: []Client{{Name: "x", RetryMax: 5 * second, Timeout: second}}} // an intent lives for 4 s
	read := []check.Held{{Name: "a", From: 0, To: 10 * second}, {Name: "c", From: 0, To: 10 * second}}
	for name, tt := range map[string]struct {
		wait string
		to   time.Duration // 0 for never
	}{
		"until the intent ends":     {"x keeps 30s-100s asked=5s names=a,b", 14*second + 40*time.Millisecond},
		"until the waiter gives up": {"x keeps 12s-100s asked=5s names=a,b", 12 * second},
		"not if it gave up before":  {"x keeps 9s-100s asked=5s names=a,b", 0},
		"not if it came later":      {"x keeps 30s-100s asked=11s names=a,b", 0},
		"not if it only tries":      {"x keeps 30s-100s asked=5s names=a,b try", 0},
		"not if it is a mutex":      {"x keeps 30s-100s asked=5s names=a,b mutex", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := judged(s, tt.wait).intents(read)
			if tt.to == 0 {
				assert.Empty(t, found)
				return
			}
			assert.Equal(t, []check.Held{{Name: "a", From: 10 * second, To: tt.to, Readers: true}}, found)
		})
	}
}

// TestAHoldThatEndedAtOnceLeavesAnIntent shows that a waiter for several names keeps readers out also after a reader
// that unlocked in the moment of its acquisition.
func TestAHoldThatEndedAtOnceLeavesAnIntent(t *testing.T) {
	t.Parallel()
	const second = time.Second
	s := Schedule{ // an intent lives for 4 s, and a wait of 1.5 s is allowed
		Clients: []Client{{Name: "x", RetryMax: second, Timeout: second}}, Storm: 60 * second,
	}
	for mode, found := range map[string]bool{kinds.Reader: false, kinds.Mutex: true} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			r := judged(s, "x keeps 30s-100s names=a,b; x keeps 1s-100s op=2 name=b;"+
				"x keeps 2s-100s asked=1s op=3 name=a "+mode+"; x calls 2s op=3 name=a;"+
				"x keeps 5s-100s asked=2s op=4 name=a reader")
			r.checkWaits(check.Intervals(r.Events))
			assert.Equal(t, found, !r.OK(), "%v", r.Found)
		})
	}
}

// In this schedule a proxy delivers an acquire 25 s late: its repetitions were lost, too, while the master answered on
// another connection. No release is repeated for so long, and the key expires by its TTL.
func TestAKeyThatCameThroughALossyProxyMayExpire(t *testing.T) {
	t.Parallel()
	r := InBubble(Draw(200001348), Product(broken.Lock{}))
	assert.Empty(t, r.By())
}
