package wire

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

// settled settles calls that were sent at 9 with replies that arrived at 10. If err is not nil, the connection has
// ended.
func settled(s *state, calls []*Call, err error, replies ...link.Reply) (settlement, int) {
	for _, c := range calls {
		c.setSent(at(9))
	}
	out := settlement{state: s, server: aServer, now: at(10)}
	n := out.settleAll(calls, replies, err)
	return out, n
}

func TestSettlementOfOneReply(t *testing.T) {
	t.Parallel()
	readOnly := resp.Error("READONLY You can't write against a read only replica.")
	tooLarge := resp.Error("ERR Protocol error: invalid bulk length")
	ok, one, zero := link.Reply{Value: "OK"}, link.Reply{Value: int64(1)}, link.Reply{Value: int64(0)}
	noScript := link.Reply{Err: resp.Error("NOSCRIPT No matching script.")}
	notSent := link.Reply{Result: link.NotSent, Err: errBroken}
	inDoubt := link.Reply{Result: link.InDoubt, Err: errBroken}
	repeated := func(c *Call) { c.repeated = true }
	keeps := func(c *Call) { c.Keeps = true }
	text := func(c *Call) { c.Op, c.asText = aRelease, true }
	pings := func(c *Call) { voted(c); c.Op = ping }
	var yes, no atomic.Bool
	yes.Store(true)
	for name, c := range map[string]struct {
		call       *Call
		reply      link.Reply
		want       *Vote // without the server; nil: none yet
		retry      bool  // it is written again, at the head of the queue
		unanswered bool  // it goes to the outbox
		ended      bool  // the connection must be closed
		strange    bool  // the reply is not one of the operation
	}{
		"a grant":  {call: anyCall(), reply: ok, want: &Vote{Verdict: Granted}},
		"a denial": {call: anyCall(), want: &Vote{Verdict: Denied}},
		"a grant that is guarded": {
			call: anyCall(func(c *Call) { c.Window = time.Minute }), reply: ok,
			want: &Vote{Verdict: Unknown, Guarded: true, Err: &node.RestartError{Left: 51 * time.Second}},
		},
		"a denial is not guarded": {call: anyCall(func(c *Call) { c.Window = time.Minute }), want: &Vote{Verdict: Denied}},
		"a grant that was sent within the window": { // which has passed when the reply arrives
			call: anyCall(func(c *Call) { c.Window = 9*time.Second + time.Millisecond }), reply: ok,
			want: &Vote{Verdict: Unknown, Guarded: true, Err: &node.RestartError{Left: time.Millisecond}},
		},
		"a strange reply":           {call: anyCall(), reply: one, want: new(BadReply(int64(1))), ended: true, strange: true},
		"an error":                  {call: anyCall(), reply: link.Reply{Err: readOnly}, want: new(failed(readOnly))},
		"a PING, and another reply": {call: anyCall(pings), reply: ok, ended: true, strange: true},
		"a PING, and why the connection ends": {
			call: anyCall(pings), reply: link.Reply{Err: resp.Error("ERR idle timeout")}, ended: true, strange: true,
		},
		"a refused PING":     {call: anyCall(pings), reply: link.Reply{Err: resp.Error("LOADING")}},
		"a call with a vote": {call: anyCall(voted), reply: ok},
		"not sent":           {call: anyCall(), reply: notSent, want: new(unsent(errBroken)), ended: true},
		"in doubt":           {call: anyCall(), reply: inDoubt, want: new(unknown(errBroken)), ended: true},
		"too large":          {call: anyCall(), reply: link.Reply{Err: tooLarge}, want: new(failed(tooLarge)), ended: true},

		"a release":            {call: anyCall(durable), reply: one, want: &Vote{Verdict: Granted, Number: 1}},
		"a release of nothing": {call: anyCall(durable), reply: zero, want: &Vote{Verdict: Denied}},
		"a repeated release of nothing": {
			call: anyCall(durable, repeated), reply: zero, want: &Vote{Verdict: Granted},
		},
		"a repeated denial of a change": {
			call: anyCall(durable, repeated, keeps), reply: zero, want: &Vote{Verdict: Denied},
		},
		"a repeated release, and a strange reply": {
			call: anyCall(durable, repeated), reply: link.Reply{Value: "x"}, unanswered: true, ended: true,
		},
		"a refused release":       {call: anyCall(durable), reply: link.Reply{Err: readOnly}, want: new(failed(readOnly))},
		"a release not sent":      {call: anyCall(durable), reply: notSent, retry: true, ended: true},
		"a late release not sent": {call: anyCall(durable, voted), reply: notSent, retry: true, ended: true},
		"a release not sent, and why": { // only a reply shows that the server has read the call
			call: anyCall(durable), reply: link.Reply{Result: link.NotSent, Err: tooLarge}, retry: true, ended: true,
		},
		"a release in doubt": {call: anyCall(durable), reply: inDoubt, unanswered: true, ended: true},
		"a release that is too large": {
			call: anyCall(durable), reply: link.Reply{Err: tooLarge}, unanswered: true, ended: true,
		},
		// A server that has the text of a script knows the script. A command has no text.
		"an unknown script, by its text": {call: anyCall(text), reply: noScript, want: new(failed(noScript.Err))},
		"an unknown script of a command": {call: anyCall(), reply: noScript, want: new(failed(noScript.Err))},
		"an unknown script":              {call: anyCall(durable), reply: noScript, retry: true},
		"an unknown script, still needed": {
			call: anyCall(durable, func(c *Call) { c.Canceled = &no }), reply: noScript, retry: true,
		},
		"an unknown script, and no need": {
			call: anyCall(durable, func(c *Call) { c.Canceled = &yes }), reply: noScript, want: new(unsent(node.ErrDropped)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s state
			wasRepeated := c.call.repeated
			out, n := settled(&s, []*Call{c.call}, nil, c.reply)
			assert.Equal(t, 1, n)
			if c.want == nil {
				assert.Empty(t, out.deliveries)
			} else {
				require.Len(t, out.deliveries, 1)
				got := out.deliveries[0].vote
				got.Server = nil
				assert.Equal(t, *c.want, got)
			}
			assert.Equal(t, c.retry, len(out.retry) == 1)
			assert.Equal(t, c.unanswered, len(out.unanswered) == 1)
			assert.Equal(t, wasRepeated || c.unanswered, c.call.repeated, "it may have been executed")
			assert.Equal(t, c.ended, out.ended)
			assert.Equal(t, c.reply.Result == link.Answered && !c.unanswered && !c.strange, out.answered)
			assert.Equal(t, c.reply.Result == link.InDoubt || c.unanswered, out.lost)
		})
	}
}

func TestSettlementOfABatch(t *testing.T) {
	t.Parallel()
	ok := link.Reply{Value: "OK"}
	batch := func() []*Call { return []*Call{anyCall(), anyCall(durable), anyCall()} }

	out, n := settled(new(state), batch(), nil, ok)
	assert.Equal(t, 1, n, "some replies")
	assert.Len(t, out.deliveries, 1)
	assert.False(t, out.ended)

	calls := batch()
	out, n = settled(new(state), calls, errBroken, ok)
	assert.Equal(t, 3, n, "some replies, and the end")
	assert.Len(t, out.deliveries, 2)
	assert.Equal(t, calls[1:2], out.unanswered)
	assert.True(t, out.ended && out.lost)
	assert.Equal(t, at(9), out.lostSince)

	calls = batch()
	for i, c := range calls {
		c.setSent(at(9 + float64(i)))
	}
	out = settlement{state: new(state), server: aServer, now: at(12)}
	out.settleAll(calls, nil, errBroken)
	assert.Equal(t, at(9), out.lostSince, "nothing but the end: the first call")

	for _, err := range []error{nil, link.ErrUnasked} {
		replies := []link.Reply{ok, {Value: int64(1)}, ok, ok}
		if err != nil {
			replies = replies[:2]
		}
		out, n = settled(new(state), batch(), err, replies...)
		assert.Equal(t, 3, n)
		require.ErrorIs(t, out.err, link.ErrUnasked)
		assert.Equal(t, Unknown, out.deliveries[0].vote.Verdict, "no reply is known to be that of its call")
		assert.True(t, out.ended && out.lost && !out.answered)
	}

	out, _ = settled(new(state), batch(), errBroken, link.Reply{Value: int64(1)}, link.Reply{Value: int64(1)}, ok)
	assert.Equal(t, Unknown, out.deliveries[1].vote.Verdict, "a reply after a malformed one, and the end")
	assert.False(t, out.answered)

	var s state
	s.calls.ask(ping, 0, at(9))
	out, _ = settled(&s, s.calls.written, errBroken)
	assert.True(t, out.ended && out.onlyPing, "nothing but the end, behind a PING")
	assert.False(t, out.lost, "no call was sent")
}

// Between two replies that are received at once, a server became a replica, and a master again.
func TestSettlementOfAPromotion(t *testing.T) {
	t.Parallel()
	question := func(c *Call) { voted(c); c.Op = askRole }
	calls := []*Call{anyCall(question), anyCall(question), anyCall(func(c *Call) { c.Window = time.Second })}
	out, _ := settled(new(state), calls, nil,
		link.Reply{Value: "role:slave"}, link.Reply{Value: "role:master"}, link.Reply{Value: "OK"})
	require.Len(t, out.deliveries, 1)
	assert.True(t, out.deliveries[0].vote.Guarded)
	assert.True(t, out.changed)
	assert.Equal(t, at(10), out.server.Up)

	guarded := anyCall(func(c *Call) { c.Window = time.Second })
	out, _ = settled(new(state), []*Call{anyCall(), guarded}, nil,
		link.Reply{Err: resp.Error("READONLY as a replica")}, link.Reply{Value: "OK"})
	require.Len(t, out.deliveries, 2)
	assert.True(t, out.deliveries[1].vote.Guarded, "it was executed after a promotion")
	assert.True(t, out.changed)
}

// A release that may have overtaken its acquire is scheduled again, until nothing can arrive any more.
func TestSettlementRepeatsAReleaseAfterALoss(t *testing.T) {
	t.Parallel()
	s := state{late: lost()}
	release := anyCall(durable)
	_, _ = settled(&s, []*Call{release}, nil, link.Reply{Value: int64(0)})
	assert.Equal(t, lateDraining, s.late.state, "the master has answered")
	assert.Equal(t, at(10.5), s.outbox.dueMain())
	require.Equal(t, []*Call{release}, s.outbox.takeMain(at(10.5)))

	later := anyCall(durable, func(c *Call) { c.FirstAsked = at(10) })
	_, _ = settled(&s, []*Call{later}, nil, link.Reply{Value: int64(1)})
	assert.Zero(t, s.outbox.dueMain(), "it cannot have overtaken anything")
	undone := anyCall(durable)
	_, _ = settled(&s, []*Call{undone}, nil, link.Reply{Value: int64(1)})
	require.Equal(t, []*Call{undone}, s.outbox.takeMain(at(11)), "an extension may restore what it removed")
	_, _ = settled(&s, []*Call{anyCall()}, nil, link.Reply{Value: "OK"})
	assert.Zero(t, s.outbox.dueMain(), "it is no release")
}

// The connection of a suspect master was silent, too, so it may deliver its calls late.
func TestAnAnswerOfASuspectCountsForLateDeliveries(t *testing.T) {
	t.Parallel()
	p := newCore(fakeLink{})
	p.state.late, p.state.calls.written = drainingFrom(4), []*Call{anyCall()}
	p.state.health.fail(errBroken, at(9))
	p.settle(p.conn.link, []link.Reply{{Value: "OK"}}, nil, nil, at(10))
	assert.Equal(t, at(10), p.state.late.answeredAt)
}

// A master that refuses a release has received every earlier request, so the TTLs of the keys are running.
func TestARefusedReleaseShowsWhenItsKeysExpire(t *testing.T) {
	t.Parallel()
	var s state
	release, known := anyCall(durable), anyCall(expiringAt(at(20)))
	busy := link.Reply{Err: resp.Error("BUSY Redis is busy running a script.")}
	out, _ := settled(&s, []*Call{release, known}, nil, busy, busy)
	assert.Equal(t, at(70), release.expiresAt())
	assert.Equal(t, at(20), known.expiresAt())
	require.Len(t, out.reports, 1, "both have one reason")
	assert.Equal(t, at(10.5), s.outbox.dueMain())
	assert.Equal(t, 2, s.outbox.countMain())

	retry := s.outbox.takeMain(at(10.5))
	require.Equal(t, []*Call{release}, retry, "one is tried")
	out, _ = settled(&s, retry, nil, link.Reply{Value: int64(1)})
	assert.Equal(t, []*Call{known}, s.calls.queue, "the others follow")
	assert.Empty(t, out.reports)
	out, _ = settled(&s, s.calls.queue, nil, link.Reply{Value: int64(1)})
	require.Len(t, out.reports, 1)
	assert.True(t, out.reports[0].(*node.RefusalError).Over) //nolint:errorlint // it is not wrapped
}

// After a loss, the acquire may arrive after the refusal of its release. Then its TTL begins later.
func TestARefusedReleaseThatOvertookItsAcquireIsNotGivenUpEarly(t *testing.T) {
	t.Parallel()
	s := state{late: lost()}
	release, later := anyCall(durable), anyCall(durable, func(c *Call) { c.FirstAsked = at(10) })
	busy := link.Reply{Err: resp.Error("BUSY Redis is busy running a script.")}
	settled(&s, []*Call{release, later}, nil, busy, busy)
	require.Equal(t, lateDraining, s.late.state)
	require.True(t, s.late.until.After(at(10)))
	assert.Equal(t, s.late.until.Add(time.Minute), release.expiresAt())
	assert.Equal(t, at(70), later.expiresAt(), "what it undoes went over the new connection")
}

// A server that has no vote confirms no minimum hold either. A release by it is harmless.
func TestWhatCountsOnAServerWithoutAVote(t *testing.T) {
	t.Parallel()
	bar := &node.RoleError{Role: "slave"}
	for _, c := range []*Call{anyCall(), anyCall(func(c *Call) { c.Durable, c.Keeps = true, true })} {
		want := Vote{Verdict: Unknown, Guarded: true, Err: bar}
		assert.Equal(t, want, guard(new(link.Server), grant(), c, bar))
	}
	assert.Equal(t, grant(), guard(new(link.Server), grant(), anyCall(func(c *Call) { c.Durable = true }), bar))
}
