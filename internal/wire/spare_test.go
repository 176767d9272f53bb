package wire

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

func TestASpareIsStartedOnce(t *testing.T) {
	t.Parallel()
	p := newCore()
	start := func() (fx effects) {
		p.startSpare(at(9), &fx)
		return fx
	}
	assert.Equal(t, effects{}, start(), "there is no call")
	p.state.outbox.orphan(releases(1)...)
	assert.Equal(t, effects{startSpare: true}, start())
	assert.Equal(t, effects{}, start())
}

func TestASpareIsUsedUntilItEnds(t *testing.T) {
	t.Parallel()
	p := newCore()
	l := &fakeLink{}
	for _, err := range []error{nil, errBroken} {
		p.spare.state, p.spare.link = spareSending, l
		p.spare.lane, p.spare.sent = &lane{}, releases(1)
		fx, left := p.settleSpare(l, 1, []link.Reply{{Value: int64(1)}}, err, at(9))
		assert.Zero(t, left)
		assert.Equal(t, at(9), fx.now)
		assert.Equal(t, err != nil, p.spare.link == nil)
		assert.Len(t, fx.close, map[bool]int{true: 1, false: 0}[err != nil])
	}
}

// A connection to which nothing can be sent postpones the next one. A call that breaks its connection postpones those
// that wait with it, but not at once: the next one may be healthy.
func TestWhatWaitsAfterABatchWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	var atOnce time.Time
	for name, c := range map[string]struct {
		size, n int
		replies []link.Reply
		next    time.Time // connection
		batch   time.Time
	}{
		"no answer":            {maxOwed, 4, nil, atOnce, atOnce},
		"an answer":            {maxOwed, 4, []link.Reply{{Value: int64(1)}}, atOnce, atOnce},
		"no answer, one call":  {maxOwed, 1, nil, atOnce, atOnce},
		"no answer once again": {1, 1, nil, atOnce, at(9).Add(repeatAfter)},
		"nothing was sent":     {1, 1, []link.Reply{{Result: link.NotSent, Err: errBroken}}, at(9).Add(retryMin), atOnce},
	} {
		p := newCore()
		p.spare.state, p.spare.lane = spareSending, &lane{key: laneKey{cause: owedUnanswered}, limit: c.size}
		p.spare.sent = releases(c.n)
		p.settleSpare(fakeLink{}, c.n, c.replies, errBroken, at(9))
		assert.Equal(t, c.next, p.spare.dialAt, name)
		assert.Equal(t, c.batch, p.spare.lane.due, name)
	}
}

func TestAFailedProofBacksOff(t *testing.T) {
	t.Parallel()
	p := newCore(fakeLink{})
	p.driver.busy, p.spare.state = true, spareDialing
	p.state.health.fail(errBroken, at(9))
	fx, more := p.spareConnected(nil, errBroken, 0, at(10))
	assert.False(t, more || p.spare.state != spareNone)
	assert.Equal(t, at(10).Add(2*retryMin), p.state.health.retryAt)
	assert.Equal(t, p.state.health.retryAt, fx.tickBy)
}

func TestAnOrphanExpires(t *testing.T) {
	t.Parallel()
	p := newCore()
	orphan := anyCall(durable)
	p.state.outbox.orphan(orphan)
	fx := p.tick(at(9.9))
	assert.Empty(t, fx.deliveries)
	assert.Equal(t, at(10), fx.tickBy)
	assert.Equal(t, []delivery{{orphan, unknown(node.ErrTimeout)}}, p.tick(at(10)).deliveries)
}

func TestASpareSendsOrphans(t *testing.T) {
	t.Parallel()
	p := newCore()
	calls := releases(2)
	p.state.outbox.orphan(calls...)
	p.startSpare(at(9), new(effects))
	next, _ := p.nextSpareTask(at(9))
	assert.Equal(t, doConnect, next.do)
	p.spareConnected(fakeLink{}, nil, 15*time.Second, at(9))
	next, _ = p.nextSpareTask(at(9.5))
	assert.Equal(t, doFlush, next.do)
	assert.Equal(t, 2, next.calls)
	assert.Equal(t, time.Minute, next.maxSilence)
	for _, c := range calls {
		assert.Equal(t, at(9.5), c.sentAt())
	}
	assert.Equal(t, batches{1, 2}, p.batches)
	p.settleSpare(fakeLink{}, 2, slices.Repeat([]link.Reply{{Value: int64(1)}}, 2), nil, at(9))
	next, fx := p.nextSpareTask(at(9))
	assert.Equal(t, doRest, next.do)
	assert.Equal(t, []link.Link{fakeLink{}}, fx.close)
	p.state.outbox.orphan(anyCall(expiringAt(at(9.5)), voted))
	p.startSpare(at(9), new(effects))
	next, _ = p.nextSpareTask(at(9.5))
	assert.Equal(t, doRest, next.do, "the keys have expired")
}

// A handshake from before the silence says nothing of it: the master may have been frozen since.
func TestOnlyAConnectionMadeInTheSilenceProvesTheMaster(t *testing.T) {
	t.Parallel()
	p := newCore(&slowLink{})
	p.conn.silentSince, p.driver.busy = at(8), true
	p.state.health.fail(errBroken, at(8))
	p.spare.state, p.spare.link, p.spare.began = spareLinked, fakeLink{}, at(7.9)
	next, fx := p.nextSpareTask(at(9))
	assert.Equal(t, doConnect, next.do)
	assert.Equal(t, []link.Link{fakeLink{}}, fx.close)
	_, ok := p.spareConnected(fakeLink{}, nil, 0, at(9.1))
	assert.True(t, ok)
	next, fx = p.nextSpareTask(at(9.1))
	assert.Equal(t, doProve, next.do)
	assert.Empty(t, fx.close)
}

// A suspect master that stays silent after a batch is proved, although no call ends: all may have their votes.
func TestABatchToASuspectMasterIsFollowedByAProof(t *testing.T) {
	t.Parallel()
	for _, suspect := range []bool{false, true} {
		p := newCore(fakeLink{})
		p.driver.busy = true
		if suspect {
			p.state.health.fail(errBroken, at(8))
		}
		p.state.calls.push(anyCall(expiringAt(at(70)), voted))
		next, fx := p.nextTask(at(9))
		require.Equal(t, doFlush, next.do)
		if suspect {
			assert.Equal(t, at(9).Add(retryMin), fx.tickBy)
			assert.True(t, p.tick(at(9).Add(retryMin)).startSpare)
		} else {
			assert.Zero(t, fx.tickBy)
		}
	}
}

func TestOneUnansweredReleaseIsSentOverTheSpare(t *testing.T) {
	t.Parallel()
	p := newCore(fakeLink{})
	p.state.calls.written = releases(1)
	fx := p.settle(p.conn.link, nil, errBroken, nil, at(9))
	assert.True(t, fx.startSpare)
	assert.Equal(t, spareUnlinked, p.spare.state)
}

func TestAnAnswerOverASpare(t *testing.T) {
	t.Parallel()
	for name, main := range map[string]link.Link{"alone": nil, "next to a main connection": fakeLink{}} {
		p := newCore(main)
		p.state.health.fail(errBroken, at(8))
		p.spare.state, p.spare.lane, p.spare.backoff = spareSending, &lane{limit: 1}, retryMax
		retried, waiting := anyCall(durable), anyCall(durable)
		p.state.outbox.refuse(errBroken, at(8), retried, waiting)
		p.state.outbox.takeMain(at(9))
		p.spare.sent = []*Call{retried}
		fx, _ := p.settleSpare(fakeLink{}, 1, []link.Reply{{Value: int64(1)}}, nil, at(9))
		assert.Equal(t, main == nil, p.state.health.suspect == nil, "%s: the main connection decides", name)
		assert.Equal(t, main == nil, slices.Contains(fx.reports, nil))
		assert.Equal(t, []*Call{waiting}, p.state.calls.queue)
		assert.True(t, p.driver.busy, "it sends the other release")
		assert.Equal(t, 2, p.spare.lane.limit)
		assert.Zero(t, p.spare.backoff)
	}
}

// A spare connection that works replaces the main one only if that one is still silent.
func TestWhichConnectionAProofKeeps(t *testing.T) {
	t.Parallel()
	older, newer := &slowLink{}, &slowLink{}
	for name, c := range map[string]struct {
		change   func(p *core)
		replaced bool
	}{
		"it is silent":             {func(*core) {}, true},
		"it was replaced":          {func(p *core) { p.conn.link = &slowLink{} }, false},
		"it has ended":             {func(p *core) { p.conn.link = nil }, false},
		"a reply has arrived":      {func(p *core) { p.conn.silentSince = at(8.5) }, false},
		"no reply is outstanding":  {func(p *core) { p.state.calls.written = nil }, false},
		"the pipe has been closed": {func(p *core) { p.closing.closed = true }, false},
	} {
		p := newCore(older)
		p.conn.silentSince, p.driver.busy = at(8), true
		p.state.health.fail(errBroken, at(8))
		p.spare.state, p.spare.link, p.spare.began = spareLinked, newer, at(8)
		p.state.calls.written = releases(1)
		next, _ := p.nextSpareTask(at(9))
		require.Equal(t, task{do: doProve, link: newer, main: older, mainSilentSince: at(8)}, next)
		c.change(p)
		fx := p.endProof(next, at(9))
		if c.replaced {
			assert.Equal(t, []link.Link{older}, fx.close, name)
			assert.Same(t, newer, p.conn.successor, name)
			assert.Nil(t, p.spare.link)
			assert.Equal(t, at(9), p.state.health.retryAt, name)
		} else {
			assert.Nil(t, p.conn.successor, name)
			assert.Equal(t, at(9).Add(retryMin), p.state.health.retryAt, "%s: it is not tried at once", name)
		}
		next, fx = p.nextSpareTask(at(9))
		assert.Equal(t, doRest, next.do, name)
		assert.Equal(t, c.replaced, len(fx.close) == 0, name)
		if c.replaced {
			p.settle(older, nil, errBroken, nil, at(9))
			assert.Equal(t, at(9), p.state.health.retryAt, "the end of the older connection postpones nothing")
		}
	}
}

// The replies of a silent master may arrive when its connection has been closed for a successor, which carries the next
// call, whatever the closed connection says of itself. If another connection were made instead, no silence of that one
// would be proved.
func TestASuccessorFollowsAConnectionThatWasClosed(t *testing.T) {
	t.Parallel()
	for _, main := range []link.Link{&endedLink{}, &slowLink{}} {
		p := newCore()
		successor := &slowLink{}
		p.connect(main)
		p.conn.successor, p.conn.successorAt = successor, at(8)
		p.driver.busy = true
		p.state.calls.push(releases(1)...)
		next, fx := p.nextTask(at(9))
		assert.Equal(t, doFlush, next.do)
		assert.Equal(t, []link.Link{main}, fx.close)
		assert.Same(t, successor, p.conn.link)
		assert.Nil(t, p.conn.successor)
	}
}

// endedLink is a link that the master has ended.
type endedLink struct{ fakeLink }

func (*endedLink) State() link.State { return link.Ended }

// A master that is down for long may have many orphans, and tick looks at them each time.
func TestATickCopiesNoOrphans(t *testing.T) {
	co := newCore()
	const many = 10_000
	for range many {
		co.state.outbox.owe(owedUnanswered, at(20), at(9), anyCall(durable, voted))
	}
	co.spare.state = spareUnlinked
	co.tick(at(10))
	allocs := testing.AllocsPerRun(10, func() { co.tick(at(10)) })
	assert.Less(t, allocs, 10.0)
	assert.Equal(t, many, co.unconfirmed())
}
