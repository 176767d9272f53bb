package wire

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

// Every pair of state and event is either in the table below, with the state that follows, or panics.
func TestEveryPairOfConnectionStateAndEvent(t *testing.T) {
	t.Parallel()
	possible := map[connState]map[connEvent]connState{
		connNone:    {connDial: connDialing, connAdopted: connFresh},
		connDialing: {connMade: connFresh, connFailed: connNone},
		connFresh:   {connAnswered: connProven, connEnded: connNone},
		connProven:  {connAnswered: connProven, connEnded: connNone},
	}
	checkTransitions(t, connStates, connEvents, (*connState).on, possible, "connection")
}

func TestEveryPairOfSpareStateAndEvent(t *testing.T) {
	t.Parallel()
	possible := map[spareState]map[spareEvent]spareState{
		spareNone:     {spareStart: spareUnlinked},
		spareUnlinked: {spareRest: spareNone, spareDial: spareDialing},
		spareDialing:  {spareMade: spareLinked, spareFailed: spareNone},
		spareLinked: {
			spareRest: spareNone, spareRedial: spareDialing, spareProve: spareProving, spareSend: spareSending,
		},
		spareProving: {spareProved: spareUnlinked, spareRefuted: spareLinked},
		spareSending: {spareAnswered: spareSending, spareSettled: spareLinked, spareEnded: spareUnlinked},
	}
	checkTransitions(t, spareStates, spareEvents, (*spareState).on, possible, "spare connection")
}

// checkTransitions checks that each pair of state and event leads to the state in all, or panics.
func checkTransitions[S, E ~uint8](t *testing.T, states S, events E, on func(*S, E), all map[S]map[E]S, name string) {
	t.Helper()
	for s := range states {
		for e := range events {
			got := s
			next, ok := all[s][e]
			if !ok {
				next = s
				assert.PanicsWithValue(t, fmt.Sprintf("redlock: %s event %v in state %v", name, e, s), func() { on(&got, e) })
			} else {
				on(&got, e)
			}
			assert.Equal(t, next, got, "%v in %v", e, s)
		}
	}
}

// A connection takes its states from the events of the core, and has a link in two of them.
func TestTheStatesOfAConnection(t *testing.T) {
	t.Parallel()
	co := newCore()
	in := func(want connState) {
		t.Helper()
		require.Equal(t, want, co.conn.state)
		require.Equal(t, want == connFresh || want == connProven, co.conn.link != nil)
	}
	in(connNone)
	dial := func(l link.Link, err error, now float64) {
		t.Helper()
		co.state.calls.push(anyCall(durable))
		co.state.health.retryAt = at(now)
		task, _ := co.nextTask(at(now))
		require.Equal(t, doConnect, task.do)
		in(connDialing)
		co.connected(l, err, at(now))
	}
	dial(nil, errBroken, 9)
	in(connNone)
	co.state.health.answer()
	dial(fakeLink{}, nil, 10)
	in(connFresh)
	task, _ := co.nextTask(at(10))
	require.Equal(t, doFlush, task.do)
	co.wrote(task.link)
	co.settle(task.link, []link.Reply{{Value: int64(1)}}, nil, nil, at(11))
	in(connProven)
	co.driver.busy = true
	call := anyCall(func(c *Call) { c.Asked, c.Deadline = at(11), at(12) })
	co.state.calls.written = []*Call{call}
	co.tick(at(20))
	require.NotNil(t, co.state.health.suspect)
	in(connProven)
	assert.True(t, co.tick(at(21)).startSpare)
	co.settle(co.conn.link, []link.Reply{{Value: "OK"}}, nil, nil, at(22))
	in(connProven)
	co.state.calls.written = releases(1)
	co.settle(co.conn.link, nil, errBroken, nil, at(23))
	in(connNone)
	assert.Nil(t, co.state.health.suspect, "a proven connection may end")
}

// A connection that never carried an answer makes its master suspect.
func TestWhichLostConnectionMakesAMasterSuspect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(p *core)
		replies []link.Reply
		suspect bool
	}{
		"it never carried an answer":    {func(*core) {}, nil, true},
		"it carried an answer before":   {func(p *core) { p.conn.state = connProven }, nil, false},
		"it carried an answer just now": {func(*core) {}, []link.Reply{{Value: int64(1)}}, false},
		"only a PING was sent over it": {func(p *core) {
			p.state.calls.written = nil
			p.state.calls.ask(ping, 0, at(9))
		}, nil, false},
		"its end was reported by a call": {func(*core) {}, []link.Reply{{Result: link.InDoubt, Err: errBroken}}, true},
		"a reply was malformed":          {func(p *core) { p.conn.state = connProven }, []link.Reply{{Value: "x"}}, true},
	} {
		p := newCore(fakeLink{})
		p.state.calls.written = releases(2)
		c.prepare(p)
		fx := p.settle(p.conn.link, c.replies, errBroken, nil, at(10))
		assert.Nil(t, p.conn.link, name)
		assert.Equal(t, c.suspect, p.state.health.suspect != nil, name)
		assert.Equal(t, c.suspect, len(fx.reports) > 0, name)
	}
}

// seen is an observation of a server that was asked and answered at these seconds.
func seen(runID string, asked, answered float64) link.Observation {
	return link.Observation{RunID: runID, Asked: at(asked), Answered: at(answered)}
}

func TestTheProofThatThereAreSeveralServers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		observations []link.Observation
		several      bool
	}{
		"one":                          {[]link.Observation{seen("A", 0, 1), seen("A", 2, 3), seen("A", 4, 5)}, false},
		"a restart":                    {[]link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("B", 4, 5)}, false},
		"two restarts":                 {[]link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("C", 4, 5)}, false},
		"the first answers again":      {[]link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("A", 4, 5)}, true},
		"at once":                      {[]link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("A", 3, 5)}, true},
		"it was asked before":          {[]link.Observation{seen("A", 0, 1), seen("B", 2, 4), seen("A", 3, 5)}, false},
		"it was not seen before":       {[]link.Observation{seen("A", 0, 3), seen("B", 2, 4), seen("A", 5, 6)}, false},
		"it was seen at the same time": {[]link.Observation{seen("A", 0, 2), seen("B", 2, 4), seen("A", 5, 6)}, false},
		"it was not seen before, but is next": {
			[]link.Observation{seen("A", 0, 3), seen("B", 2, 4), seen("B", 5, 6), seen("A", 7, 8)}, true,
		},
		"one of three, that of the requests": {
			[]link.Observation{seen("M", 0, 1), seen("B", 2, 3), seen("C", 4, 5), seen("M", 6, 7)}, true,
		},
		"unknown": {[]link.Observation{seen("A", 0, 1), seen("", 2, 3), seen("A", 4, 5)}, false},
	} {
		s := servers{main: "M"}
		for _, x := range c.observations {
			assert.Nil(t, s.several, name)
			s.see(x)
		}
		assert.Equal(t, c.several, s.several != nil, name)
	}
}

func TestWhenTheServerOfTheRequestsIsAskedAgain(t *testing.T) {
	t.Parallel()
	var s servers
	s.see(seen("A", 0, 1))
	isNew := func(runID string) bool { s.setMain(runID); return s.claimComparison() }
	assert.True(t, isNew("A"))
	assert.False(t, isNew("A"))
	assert.False(t, isNew(""), "it is unknown")
	assert.False(t, isNew("A"))
	assert.False(t, s.doubt)
	s.see(seen("B", 2, 3))
	assert.True(t, s.doubt)
	s.see(seen("B", 4, 5))
	assert.True(t, isNew("B"))
	assert.False(t, s.doubt)
	s.see(seen("A", 6, 7))
	assert.NotNil(t, s.several)
	assert.False(t, s.doubt, "it is known")
}

// While the spare connection proves the master, the driver still asks over the main one which server answers.
func TestAComparisonKeepsTheDoubtAboutTheMainConnection(t *testing.T) {
	t.Parallel()
	for _, main := range []link.Link{nil, fakeLink{}} {
		co := newCore(main)
		co.state.servers.setMain("M")
		co.saw(seen(aServer.RunID, 0, 1))
		require.True(t, co.state.servers.doubt)
		co.beginComparison(fakeLink{})
		assert.Equal(t, main != nil, co.state.servers.doubt)
	}
}

func TestWhenThereIsOneServerAgain(t *testing.T) {
	t.Parallel()
	var s servers
	for _, x := range []link.Observation{seen("A", 0, 1), seen("B", 2, 3), seen("A", 4, 5)} {
		assert.False(t, s.due(at(9)))
		s.see(x)
	}
	assert.False(t, s.due(at(5)), "it was just seen")
	assert.True(t, s.due(at(5).Add(severalMin)))
	s.checking = true
	assert.False(t, s.due(at(9)))
	for _, x := range []struct {
		runID string
		one   bool
	}{{"A", false}, {"A", false}, {"", false}, {"A", false}, {"A", false}, {"B", false}, {"B", false}, {"B", true}} {
		assert.Equal(t, x.one, s.endCheck(x.runID, at(9)))
		assert.Equal(t, !x.one, s.several != nil)
	}

	// The pauses grow.
	s = servers{several: &node.SeveralServersError{}, backoff: severalMin}
	for range 20 {
		assert.False(t, s.endCheck("", at(9)))
	}
	assert.False(t, s.due(at(9).Add(severalMax/2-time.Nanosecond)))
	assert.True(t, s.due(at(9).Add(severalMax)))
}

// A connection that leads to the server of before the address moved is replaced, whenever the checks end.
func TestAConnectionToAServerThatIsGoneIsReplaced(t *testing.T) {
	t.Parallel()
	for _, only := range []string{aServer.RunID, "B"} {
		l := &replaceable{}
		co := newCore()
		agree := func() {
			co.state.servers = servers{
				several: &node.SeveralServersError{}, only: only, agreed: agreeingChecks - 1, backoff: severalMin,
			}
			co.endCheck(only, at(9))
		}
		moved := only != aServer.RunID
		co.connect(l)
		agree()
		assert.Equal(t, moved, l.replaced, "the main one")

		*l = replaceable{}
		co.conn = connection{state: connDialing, silentSince: at(8)}
		agree()
		co.connected(l, nil, at(10))
		assert.Equal(t, moved, l.replaced, "one that was being made")

		*l = replaceable{}
		co.conn = connection{successor: l, successorAt: at(8)}
		agree()
		co.usable(at(10), new(effects))
		assert.Equal(t, moved, l.replaced, "a successor")

		*l = replaceable{}
		co.conn = connection{state: connDialing, silentSince: at(9)}
		co.connected(l, nil, at(10))
		assert.False(t, l.replaced, "the address may have moved again")
	}
}

type replaceable struct {
	fakeLink
	replaced bool
}

func (l *replaceable) Replace() { l.replaced = true }

func TestWhenAComparisonIsOver(t *testing.T) {
	t.Parallel()
	p := newCore()
	s := &p.state.servers
	s.setMain("A")
	s.see(seen("A", 0, 1))
	assert.True(t, p.comparisonOver("A", false), "only one was seen")
	s.see(seen("B", 2, 3))
	assert.True(t, p.comparisonOver("A", true))
	assert.False(t, p.comparisonOver("A", false), "the first connection reached B")
	assert.False(t, p.comparisonOver("B", true))
	s.see(seen("A", 4, 5))
	assert.True(t, p.comparisonOver("B", true), "they are several")
	s.several, p.closing.closed = nil, true
	assert.True(t, p.comparisonOver("B", true), "the pipe is closed")
}
