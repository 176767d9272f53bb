package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// taken returns the call and the return of an acquisition of "a". op identifies it; times are in seconds.
func taken(mode, owner string, fence uint64, op int, asked, acquired time.Duration) []history.Event {
	e := history.Event{
		T: asked * time.Second, Kind: history.Invoked, Client: "client1", Op: op, Name: "a", Mode: mode, Owner: owner,
	}
	got := e
	got.T, got.Kind, got.Fence, got.Until = acquired*time.Second, history.Acquired, fence, 100*time.Second
	return []history.Event{e, got}
}

// judged returns a result with these events, in the order of their times.
func judged(s Schedule, events ...[]history.Event) *Result {
	r := &Result{Schedule: s}
	for _, e := range events {
		r.Events = append(r.Events, e...)
	}
	history.Sort(r.Events)
	return r
}

// TestATokenIsPassedOn shows what excuses tokens out of order: the second hold of the finding has the token of a third
// hold, which it may share the name with.
func TestATokenIsPassedOn(t *testing.T) {
	t.Parallel()
	kept, evicts := Schedule{}, Schedule{Plan: []faults.Step{{Fault: EvictCounters}}}
	jumps := Schedule{Plan: []faults.Step{{Fault: SetClock}}}
	mutex := taken(kinds.Mutex, "", 8, 1, 3, 4)
	reader := taken(kinds.Reader, "", 7, 1, 3, 4)
	inner := taken(kinds.Reentrant, "o", 7, 2, 6, 7)
	for name, tt := range map[string]struct {
		schedule             Schedule
		first, second, third []history.Event
		excused              bool
	}{
		"from the owner's hold": {evicts, mutex, inner, taken(kinds.Reentrant, "o", 7, 3, 2, 6), true},
		"from another reader": {
			evicts, mutex, taken(kinds.Reader, "", 7, 2, 6, 7), taken(kinds.Reader, "", 7, 3, 2, 6), true,
		},
		"where counters are kept":           {kept, mutex, inner, taken(kinds.Reentrant, "o", 7, 3, 2, 6), false},
		"from a hold that was asked later":  {evicts, mutex, inner, taken(kinds.Reentrant, "o", 7, 3, 5, 6), false},
		"from a hold with another token":    {evicts, mutex, inner, taken(kinds.Reentrant, "o", 6, 3, 2, 6), false},
		"from another owner":                {evicts, mutex, inner, taken(kinds.Reentrant, "p", 7, 3, 2, 6), false},
		"from a hold that began afterwards": {evicts, mutex, inner, taken(kinds.Reentrant, "o", 7, 3, 2, 8), false},
		"from a hold that excludes all": {
			evicts, mutex, taken(kinds.Mutex, "", 7, 2, 6, 7), taken(kinds.Mutex, "", 7, 3, 2, 6), false,
		},
		"back from a reader, without exclusion": {jumps, reader, inner, taken(kinds.Reentrant, "o", 7, 3, 1, 2), true},
		"back from a reader, with exclusion":    {kept, reader, inner, taken(kinds.Reentrant, "o", 7, 3, 1, 2), false},
		"back from a reader before the owner":   {jumps, reader, inner, taken(kinds.Reentrant, "o", 7, 3, 1, 5), false},
		"back from a reader with another token": {
			jumps, taken(kinds.Reader, "", 8, 1, 3, 4), inner, taken(kinds.Reentrant, "o", 7, 3, 1, 2), false,
		},
		"back from a hold that is no reader": {jumps, mutex, inner, taken(kinds.Reentrant, "o", 7, 3, 1, 2), false},
		"back from a writer that has the same token": {
			jumps, taken(kinds.Writer, "", 7, 1, 3, 4), inner, taken(kinds.Reentrant, "o", 7, 3, 1, 2), false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(tt.schedule, tt.first, tt.second, tt.third)
			found := check.Finding{Events: []history.Event{tt.first[1], tt.second[0], tt.second[1]}}
			assert.Equal(t, tt.excused, r.passedOn(found))
			r.find(check.Verdict{Checker: check.ByFencing, Findings: []check.Finding{found}})
			assert.Equal(t, tt.excused, r.OK())
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
		r := judged(s, taken(kinds.Reentrant, "o", 7, 1, 1, 2), taken(kinds.Reentrant, "o", 8, 2, 3, 4))
		r.judge()
		assert.Equal(t, compared, !r.OK(), "%v: %v", delay, r.Found)
	}
}

// TestOnlyTheOrderOfTokensIsExcused shows that no third hold excuses other findings of the same checker.
func TestOnlyTheOrderOfTokensIsExcused(t *testing.T) {
	t.Parallel()
	outer, inner := taken(kinds.Reentrant, "o", 7, 1, 3, 4), taken(kinds.Reentrant, "o", 8, 2, 6, 7)
	unlocks := history.Event{
		T: 9 * time.Second, Kind: history.ReleaseCalled, Client: "client1", Op: 1, Name: "a", Mode: kinds.Reentrant,
		Owner: "o",
	}
	without := taken(kinds.Reentrant, "o", 0, 2, 6, 7)
	for name, tt := range map[string]struct {
		finding []history.Event
		third   []history.Event
	}{
		"two tokens of one owner": {
			[]history.Event{outer[1], inner[0], inner[1], unlocks}, taken(kinds.Reentrant, "o", 0, 3, 1, 2),
		},
		"the outer hold ends by itself": {
			[]history.Event{outer[1], inner[0], inner[1], outer[1]}, taken(kinds.Reentrant, "o", 7, 3, 1, 2),
		},
		"no token, though one was asked for": {without, taken(kinds.Reentrant, "o", 0, 3, 1, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := judged(Schedule{Plan: []faults.Step{{Fault: EvictCounters}}}, tt.third, tt.finding)
			assert.False(t, r.passedOn(check.Finding{Events: tt.finding}))
		})
	}
}

// Where a fault breaks exclusion, a later leader may have a smaller term than an earlier one if it had asked for its
// leadership before the earlier one led. Otherwise it may not.
func TestASmallerTermOfAnEarlierCampaignIsExcused(t *testing.T) {
	t.Parallel()
	const second = time.Second
	first := taken(kinds.Leader, "", 8, 1, 6, 7)
	first = append(first, history.Event{
		T: 8 * second, Kind: history.ReleaseCalled, Client: "client1", Op: 1, Name: "a", Mode: kinds.Leader,
	})
	for name, tt := range map[string]struct {
		fault string // "" for none
		asked time.Duration
		found bool
	}{
		"no fault":                                {"", 5, true},
		"a fault that breaks nothing":             {faults.PauseMaster, 5, true},
		"a clock that is set":                     {SetClock, 5, false},
		"a clock that jumps":                      {faults.ClockForward, 5, false},
		"counters lost":                           {EvictCounters, 5, false},
		"a clock that is set, and later campaign": {SetClock, 8, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Schedule{Masters: 3, Clients: []Client{{Name: "client1"}}, Storm: 60 * second}
			injected := []history.Event{}
			if tt.fault != "" {
				s.Plan = []faults.Step{{Fault: tt.fault, On: faults.Masters, Targets: []int{0}}}
				injected = append(injected, history.Event{
					T: 4 * second, Kind: history.Inject, Fault: tt.fault, On: string(faults.Masters), Targets: []int{0},
				})
			}
			r := judged(s, injected, first, taken(kinds.Leader, "", 7, 2, tt.asked, 9))
			r.judge()
			assert.Equal(t, tt.found, slices.Contains(r.By(), check.ByFencing), "%v", r.Found)
		})
	}
}

func TestAliveFindsLossesOfLivingClients(t *testing.T) {
	t.Parallel()
	const second = time.Second
	event := func(at time.Duration, kind history.Kind, err error) history.Event {
		e := history.Event{T: at, Kind: kind, Client: "client1", Op: 1, Name: "a"}
		if err != nil {
			e.Err = err.Error()
		}
		return e
	}
	dies := []faults.Step{{Fault: faults.FreezeClient, On: faults.Clients, Targets: []int{0}, For: 60 * second}}
	for name, tt := range map[string]struct {
		keepalive bool
		plan      []faults.Step
		then      []history.Event
		found     bool
	}{
		"unlocked":            {true, nil, []history.Event{event(5*second, history.ReleaseCalled, nil)}, false},
		"the deadline passed": {true, nil, []history.Event{event(11*second, history.ReleaseCalled, nil)}, true},
		"notified of a loss before the deadline": {
			true, nil,
			[]history.Event{event(5*second, history.Lost, redlock.ErrLost), event(5*second, history.ReleaseCalled, nil)},
			true,
		},
		"the locker was closed": {
			true, nil,
			[]history.Event{event(5*second, history.Lost, redlock.ErrClosed), event(5*second, history.ReleaseCalled, nil)},
			false,
		},
		"its context ended by the unlock": {
			true, nil,
			[]history.Event{event(5*second, history.ReleaseCalled, nil), event(6*second, history.Lost, redlock.ErrLost)},
			false,
		},
		"without keepalive":     {false, nil, []history.Event{event(11*second, history.ReleaseCalled, nil)}, false},
		"of a client that died": {true, dies, []history.Event{event(11*second, history.ReleaseCalled, nil)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := taken(kinds.Mutex, "", 0, 1, 0, 1)
			got[1].Keepalive, got[1].Until = tt.keepalive, 10*second
			s := Schedule{Clients: []Client{{Name: "client1"}}, Storm: 60 * second, Plan: tt.plan}
			r := judged(s, got, tt.then)
			r.checkNoLoss(check.Intervals(r.Events))
			assert.Equal(t, tt.found, !r.OK(), "%v", r.Found)
		})
	}
}

// TestAMinimumHoldKeepsOthersOut shows how long: also if the lock was unlocked in the moment of its acquisition.
func TestAMinimumHoldKeepsOthersOut(t *testing.T) {
	t.Parallel()
	const second = time.Second
	for name, tt := range map[string]struct {
		minHold time.Duration
		found   bool
	}{"none": {0, true}, "until the waiter comes": {7 * second, false}, "for less time": {3 * second, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job := taken(kinds.Mutex, "", 0, 1, 0, 1)
			job[1].MinHold = tt.minHold
			unlocked := history.Event{T: 1 * second, Kind: history.ReleaseCalled, Client: "client1", Op: 1, Name: "a"}
			s := Schedule{Clients: []Client{{Name: "client1", RetryMax: second}}, Storm: 60 * second}
			r := judged(s, append(job, unlocked), taken(kinds.Mutex, "", 0, 2, 1, 8))
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
	s := Schedule{Clients: []Client{{Name: "client1", RetryMax: 5 * second, Timeout: second}}} // an intent lives for 4 s
	read := []check.Held{{Name: "a", From: 0, To: 10 * second}, {Name: "c", From: 0, To: 10 * second}}
	wait := func(from, to time.Duration, change func(*history.Event)) []history.Event {
		events := taken(kinds.Several, "", 0, 1, from, to)
		for i := range events {
			events[i].Name, events[i].Names = "a,b", []string{"a", "b"}
			change(&events[i])
		}
		return events
	}
	plain := func(*history.Event) {}
	for name, tt := range map[string]struct {
		wait []history.Event
		to   time.Duration // 0 for never
	}{
		"until the intent ends":     {wait(5, 30, plain), 14*second + 40*time.Millisecond},
		"until the waiter gives up": {wait(5, 12, plain), 12 * second},
		"not if it gave up before":  {wait(5, 9, plain), 0},
		"not if it came later":      {wait(11, 30, plain), 0},
		"not if it only tries":      {wait(5, 30, func(e *history.Event) { e.Try = true }), 0},
		"not if it is a mutex":      {wait(5, 30, func(e *history.Event) { e.Mode = kinds.Mutex }), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := judged(s, tt.wait).intents(read)
			if tt.to == 0 {
				assert.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			assert.Equal(t, check.Held{Name: "a", From: 10 * second, To: tt.to, Readers: true}, found[0])
		})
	}
}

// TestAHoldThatEndedAtOnceLeavesAnIntent shows that a waiter for several names keeps readers out also after a reader
// that unlocked in the moment of its acquisition.
func TestAHoldThatEndedAtOnceLeavesAnIntent(t *testing.T) {
	t.Parallel()
	const second = time.Second
	several := taken(kinds.Several, "", 0, 1, 0, 30)
	for i := range several {
		several[i].Name, several[i].Names = "a,b", []string{"a", "b"}
	}
	other := taken(kinds.Mutex, "", 0, 2, 0, 1)
	for i := range other {
		other[i].Name = "b"
	}
	s := Schedule{ // an intent lives for 4 s, and a wait of 1.5 s is allowed
		Clients: []Client{{Name: "client1", RetryMax: second, Timeout: second}}, Storm: 60 * second,
	}
	for mode, found := range map[string]bool{kinds.Reader: false, kinds.Mutex: true} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			ended := taken(mode, "", 0, 3, 1, 2)
			unlocked := history.Event{T: 2 * second, Kind: history.ReleaseCalled, Client: "client1", Op: 3, Name: "a"}
			r := judged(s, several, other, append(ended, unlocked), taken(kinds.Reader, "", 0, 4, 2, 5))
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
