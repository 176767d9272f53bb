package wire

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
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
