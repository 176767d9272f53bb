package wire

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

var (
	undoScript = NewScript("return 1")
	anAcquire  = Command("acquire", nil, "set", "a", "me").UndoneBy(undoScript)
	aRelease   = undoScript.Op("release", nil, []string{"a"})
	aServer    = &link.Server{RunID: "A", Up: epoch}
)

var callCount atomic.Uint32

// anyCall returns a new call that is due at 10, with an index of its own.
func anyCall(change ...func(*Call)) *Call {
	c := &Call{Request: &Request{Op: anAcquire, Asked: at(9), Deadline: at(10)}, Index: uint16(callCount.Add(1))}
	for _, f := range change {
		f(c)
	}
	return c
}

func durable(c *Call) { c.Op, c.Durable, c.KeyTTL = aRelease, true, time.Minute }
func voted(c *Call)   { c.voted = true }

func expiringAt(t time.Time) func(*Call) {
	return func(c *Call) {
		durable(c)
		c.HasKeys, c.KeyTTL = true, t.Sub(c.Asked)
	}
}

func TestInflightLoadsInOrder(t *testing.T) {
	t.Parallel()
	var f inflight
	calls := make([]*Call, maxBatch+2)
	for i := range calls {
		calls[i] = anyCall()
	}
	f.push(calls...)
	batch, dropped := f.load(aServer, nil, nil, at(9))
	assert.Empty(t, dropped)
	assert.Equal(t, calls[:maxBatch], batch)
	assert.Equal(t, calls[maxBatch:], f.queue)

	f.written = dropFirst(f.written, 10)
	f.retry(calls[:1])
	f.retry(calls[1:3])
	batch, _ = f.load(aServer, nil, nil, at(9))
	assert.Equal(
		t, append(append([]*Call(nil), calls[:3]...), calls[maxBatch:]...), batch, "retried calls come first, in order",
	)
	assert.Empty(t, f.queue)
}

func TestInflightDropsStaleCalls(t *testing.T) {
	t.Parallel()
	var yes, no atomic.Bool
	yes.Store(true)
	for name, c := range map[string]struct {
		change func(*Call)
		sent   bool
		err    error // of the vote; nil: none
	}{
		"a call":                                 {func(*Call) {}, true, nil},
		"a canceled one":                         {func(c *Call) { c.Canceled = &yes }, false, node.ErrDropped},
		"one that is not canceled":               {func(c *Call) { c.Canceled = &no }, true, nil},
		"one whose lease has ended":              {func(c *Call) { c.Ended = yes.Load }, false, node.ErrDropped},
		"one whose lease lasts":                  {func(c *Call) { c.Ended = no.Load }, true, nil},
		"one that is late":                       {func(c *Call) { c.Deadline = at(9) }, false, node.ErrDropped},
		"one that has its vote":                  {voted, false, nil},
		"a release that is late":                 {func(c *Call) { durable(c); c.Deadline = at(9) }, true, nil},
		"a release that has its vote":            {func(c *Call) { durable(c); voted(c) }, true, nil},
		"a release whose key expired":            {func(c *Call) { expiringAt(at(9))(c); voted(c) }, false, nil},
		"a release whose key expired, not voted": {expiringAt(at(9)), true, nil},
		"a release whose key lives":              {func(c *Call) { expiringAt(at(9.1))(c); voted(c) }, true, nil},
		"a new server, where it matters": {
			func(c *Call) { c.Window, c.RequireTrusted = time.Minute, true }, false,
			&node.RestartError{Left: 51 * time.Second},
		},
		"a new server, where its vote is guarded": {func(c *Call) { c.Window = time.Minute }, true, nil},
		"a new server, without a window":          {func(c *Call) { c.RequireTrusted = true }, true, nil},
	} {
		var f inflight
		var written atomic.Bool
		call := anyCall(c.change)
		call.Written = &written
		f.push(call)
		batch, dropped := f.load(aServer, nil, nil, at(9))
		assert.Equal(t, c.sent, len(batch) == 1, name)
		assert.Equal(t, c.sent && !call.Durable, written.Load(), name) // a release sets no keys
		assert.Equal(t, c.sent, call.sent, name)
		assert.Empty(t, f.queue, name)
		if c.err == nil {
			assert.Empty(t, dropped, name)
			continue
		}
		require.Equal(t, []delivery{{call, unsent(c.err)}}, dropped, name)
		assert.False(t, call.claimVote(), name)
	}
}

func TestInflightWaitsForTheRecheckOfARight(t *testing.T) {
	t.Parallel()
	var f inflight
	var missing rights
	require.NotNil(t, missing.handshake(link.ScriptRight{Err: errBroken}, at(8)))
	first, second := anyCall(durable), anyCall()
	f.push(anyCall(voted))
	batch, _ := f.load(aServer, nil, missing, at(9))
	assert.Empty(t, batch, "a call that is not sent needs no recheck")
	f.push(first, second)
	batch, dropped := f.load(aServer, nil, missing, at(9))
	require.Len(t, batch, 2)
	assert.Equal(t, first, batch[0], "a release is not refused")
	assert.Equal(t, anyScript, batch[1].Op)
	assert.Empty(t, dropped)
	assert.Equal(t, []*Call{second}, f.queue)
	batch, _ = f.load(aServer, nil, missing, at(9))
	assert.Empty(t, batch, "the reply to the recheck is awaited")

	isRecheck, over := missing.rechecked(f.written[1], link.Reply{Err: errBroken}, at(9))
	assert.True(t, isRecheck)
	assert.Nil(t, over)
	batch, dropped = f.load(aServer, nil, missing, at(9.1))
	assert.Empty(t, batch)
	require.Len(t, dropped, 1)
	assert.ErrorIs(t, dropped[0].vote.Err, errBroken)
}

func TestInflightExpires(t *testing.T) {
	t.Parallel()
	var f inflight
	due := func(s float64, durably bool) *Call {
		return anyCall(func(c *Call) {
			c.Deadline = at(s)
			c.Durable = durably
		})
	}
	written, later, queued, release := due(10, false), due(12, false), due(10, false), due(10, true)
	f.written = []*Call{written, later}
	f.push(queued, release, due(11, false))
	x := expiry{now: at(9.9)}
	f.expire(&x, false, nil)
	assert.Equal(t, expiry{now: at(9.9), next: at(10)}, x)

	x = expiry{now: at(10)}
	f.expire(&x, false, nil)
	assert.Equal(t, []delivery{
		{written, unknown(node.ErrTimeout)}, {queued, unsent(node.ErrTimeout)}, {release, unknown(node.ErrTimeout)},
	}, x.expired, "only a call that will not be sent is certain not to be executed")
	assert.Equal(t, at(11), x.next)
	assert.Len(t, f.written, 2, "its reply is still to come")

	failed := &node.SuspectError{Err: errors.New("refused")}
	x = expiry{now: at(20)}
	f.expire(&x, false, failed)
	assert.Len(t, x.expired, 2, "each has one vote")
	assert.Equal(t, unsent(failed), x.expired[1].vote, "why the master was not asked")
	assert.Zero(t, x.next)
}

// The releases of many locks may wait for a master that is down. Each deadline would cost a look through all.
func TestInflightDoesNotLookAtReleasesThatHaveTheirVotes(t *testing.T) {
	t.Parallel()
	var f inflight
	due := func(s float64) *Call { return anyCall(durable, func(c *Call) { c.Deadline = at(s) }) }
	first, second, third := due(10), due(11), due(12)
	votes := func(now float64) int {
		x := expiry{now: at(now)}
		f.expire(&x, false, nil)
		return len(x.expired)
	}
	f.push(first, second, third)
	require.Equal(t, 1, votes(10))
	request := first.Request
	first.Request = nil // a look at it would panic
	require.Equal(t, 1, votes(11))
	require.Panics(t, func() { first.due() }, "the control")
	first.Request = request

	f.retry([]*Call{due(11.5)})
	require.Equal(t, 1, votes(11.5), "one that was sent before is ahead of them")
	require.Zero(t, votes(11.6))
	batch, _ := f.load(aServer, nil, nil, at(11.6))
	require.Len(t, batch, 4)
	f.push(due(11.7))
	require.Equal(t, 1, votes(11.7))
	require.Equal(t, 1, votes(12), "it was written")

	f = inflight{}
	f.push(anyCall())
	require.Equal(t, 1, votes(10))
	f.push(due(11))
	require.Zero(t, votes(10))
	require.Empty(t, f.failQueued(errBroken, at(10)), "the acquire leaves the queue, and has its vote")
	require.Equal(t, 1, votes(11))
}

func TestInflightFailsTheQueueButForDurableCalls(t *testing.T) {
	t.Parallel()
	var f inflight
	var never, once atomic.Bool
	once.Store(true)
	call, hasVote, release := anyCall(), anyCall(voted), anyCall(durable)
	needless := anyCall(func(c *Call) { durable(c); c.Written = &never })
	over := anyCall(func(c *Call) { expiringAt(at(5))(c); voted(c) })
	f.retry([]*Call{call, release})
	again, third := anyCall(durable), anyCall(func(c *Call) { durable(c); c.Written = &once })
	f.push(again, hasVote, needless, over, third)
	failed := f.failQueued(errBroken, at(9))
	assert.Equal(t, []delivery{{call, unsent(errBroken)}, {needless, unsent(errBroken)}}, failed)
	assert.Equal(t, []*Call{release, again, third}, f.queue)
}

func TestInflightPings(t *testing.T) {
	t.Parallel()
	var f inflight
	assert.False(t, f.pinging())
	f.ask(ping, 0, at(9))
	assert.True(t, f.pinging())
	f.written = dropFirst(f.written, 1)
	assert.False(t, f.pinging())
}

type voterFunc func(index int, v Vote)

func (f voterFunc) Vote(index int, v Vote) { f(index, v) }

// A call that is made while a connection ends may have its vote from a time before it was made.
func TestNoVoteTakesLessThanNoTime(t *testing.T) {
	t.Parallel()
	for now, want := range map[float64]time.Duration{8: 0, 10: time.Second} {
		took := time.Duration(-1)
		anyCall(func(c *Call) { c.Voter = voterFunc(func(_ int, v Vote) { took = v.Took }) }).deliver(Vote{}, at(now))
		assert.Equal(t, want, took)
	}
}
