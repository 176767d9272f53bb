package wire

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

// slowLink is a link whose flush returns a second after the link was closed.
type slowLink struct {
	fakeLink
	closed  chan struct{}
	flushed bool
}

func (l *slowLink) Close() { close(l.closed) }

func (l *slowLink) Flush() error {
	<-l.closed
	time.Sleep(time.Second)
	l.flushed = true
	return nil
}

// slowVoter takes a second to receive its vote.
type slowVoter struct{ done bool }

func (v *slowVoter) Vote(int, Vote) {
	time.Sleep(time.Second)
	v.done = true
}

func TestCloseWaitsForABatchThatIsSentAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(clock.System, nil)
		now, co := time.Now(), &p.core
		l := &slowLink{fakeLink: fakeLink{stream: true}, closed: make(chan struct{})}
		co.connect(l)
		co.driver.busy, co.conn.silentSince = true, now
		co.state.calls.written, co.state.calls.queue = []*Call{anyCall(voted)}, []*Call{anyCall(durable, voted)}
		co.state.pacing.rtt.measure(16*time.Millisecond, now)
		p.sendAheadAlarm.By(now)
		synctest.Wait()
		require.Len(t, co.state.calls.written, 2, "a batch is being sent ahead")
		assert.Equal(t, 1, p.close(now.Add(time.Minute)))
		assert.True(t, l.flushed)
		assert.Equal(t, now.Add(time.Minute+time.Second), time.Now())
	})
}

func TestCloseWaitsForTheVotesOfExpiredCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(clock.System, nil)
		p.spawn = func(func() error) {}
		now := time.Now()
		var voter slowVoter
		c := anyCall(func(c *Call) { c.Voter, c.Asked, c.Deadline = &voter, now, now.Add(time.Second) })
		p.onHealth = func(error) {}
		p.submit(c)
		p.close(c.Deadline.Add(time.Second / 2))
		assert.True(t, voter.done)
	})
}

// A close that begins before the driver connects waits for that connection no more than one that begins after it.
func TestCloseDoesNotWaitForAConnectionThatBeginsAfterIt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call  *Call
		waits bool
	}{
		"nothing needs it":    {anyCall(), false},
		"a release is queued": {anyCall(durable), true},
	} {
		p := newCore()
		p.driver.busy, p.state.calls.queue = true, []*Call{tt.call}
		drained, _ := p.beginClose(at(99))
		task, _ := p.nextTask(at(9))
		assert.Equal(t, doConnect, task.do, name)
		select {
		case <-drained:
			assert.False(t, tt.waits, name)
		default:
			assert.True(t, tt.waits, name)
		}
	}
}

func TestAPipeThatHasNothingToDoEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := newCore()
	drained, fx := p.beginClose(at(10))
	assert.NotNil(t, drained)
	assert.True(t, fx.endDriver)
	require.ErrorIs(t, p.refusal(anyCall(durable)), node.ErrClosed)
}

// The end of a pipe ends its connections, which shows nothing of the master.
func TestTheEndOfAPipeIsNoFailureOfTheMaster(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *core) effects{
		"while connecting": func(p *core) effects {
			p.conn.state = connDialing
			fx, _ := p.connected(nil, node.ErrClosed, at(9))
			return fx
		},
		"before the first reply": func(p *core) effects {
			p.connect(fakeLink{})
			p.state.calls.written = releases(1)
			return p.settle(p.conn.link, nil, errBroken, nil, at(9))
		},
	} {
		p := newCore()
		p.driver.busy = true
		p.endClose(at(9))
		assert.Empty(t, end(p).reports, name)
		next, _ := p.nextTask(at(9))
		assert.Equal(t, doRest, next.do, name)
	}
}

func TestTheVotesOfOpenCallsAtTheEndOfAPipe(t *testing.T) {
	t.Parallel()
	p := newCore()
	queued, written, orphan := anyCall(), anyCall(durable), anyCall(durable)
	written.setSent(at(9))
	orphan.setSent(at(9))
	p.state.calls.queue, p.state.calls.written = []*Call{queued, anyCall(voted)}, []*Call{written}
	p.state.outbox.orphan(orphan)
	fx, unconfirmed := p.endClose(at(9.5))
	assert.Equal(t, []delivery{
		{queued, unsent(node.ErrClosed)}, {written, unknown(node.ErrClosed)}, {orphan, unknown(node.ErrClosed)},
	}, fx.deliveries)
	assert.Equal(t, at(9.5), fx.now)
	assert.Equal(t, 2, unconfirmed)
}

// A closing pipe ends with its last release, whether it was given up or recovered.
func TestAPipeEndsWhenNoReleaseIsLeft(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p *core){
		"it has expired": func(p *core) {
			p.state.outbox.orphan(anyCall(expiringAt(at(9)), voted))
			p.beginClose(at(20))
			assert.False(t, p.closing.closed)
			p.tick(at(9))
		},
		"the spare ends": func(p *core) {
			p.spare.state, p.spare.sent = spareSending, releases(1)
			p.beginClose(at(20))
			assert.False(t, p.closing.closed)
			p.spare.lane = &lane{}
			p.settleSpare(fakeLink{}, 1, []link.Reply{{Value: int64(1)}}, nil, at(9))
			assert.False(t, p.closing.closed)
			p.nextSpareTask(at(9))
		},
	} {
		p := newCore()
		end(p)
		assert.True(t, p.closing.closed, name)
	}
}

func TestAConnectionThatIsMadeWhileThePipeClosesIsClosed(t *testing.T) {
	t.Parallel()
	l := &fakeLink{}
	for _, connected := range []func(p *core) (effects, bool){
		func(p *core) (effects, bool) { return p.spareConnected(l, nil, 0, at(9)) },
		func(p *core) (effects, bool) { return p.connected(l, nil, at(9)) },
	} {
		p := newCore()
		p.closing.closed, p.conn.state, p.spare.state = true, connDialing, spareDialing
		fx, _ := connected(p)
		assert.Equal(t, []link.Link{l}, fx.close)
		assert.Nil(t, p.conn.link)
		assert.Nil(t, p.spare.link)
	}
}

func TestUntilWhenAClosingPipeRepeatsReleases(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*state){
		"an orphan":             func(s *state) { s.outbox.owe(owedUnanswered, at(10), at(9), anyCall(durable)) },
		"after a lost delivery": func(s *state) { s.outbox.owe(owedLate, at(10), at(9), anyCall(durable)) },
		"after a refusal":       func(s *state) { s.outbox.refused(anyCall(durable), errBroken, at(10).Add(-repeatAfter)) },
	} {
		p := newCore()
		assert.False(t, p.repeatsBy(at(10)), name)
		prepare(&p.state)
		assert.False(t, p.repeatsBy(at(9.9)), name)
		assert.True(t, p.repeatsBy(at(10)), name)
	}
	p := newCore()
	p.spare.state = spareProving
	assert.False(t, p.repeatsBy(at(10)), "it only proves the master")
	p.spare.sent = releases(1)
	assert.True(t, p.repeatsBy(at(10)))
	drained, _ := p.beginClose(at(10))
	assert.NotNil(t, drained)
	drained, _ = p.beginClose(at(10))
	assert.Nil(t, drained, "it is being closed")
}
