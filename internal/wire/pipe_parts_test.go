package wire

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

// newCore returns the core of a new pipe, over a link if there is one.
func newCore(links ...link.Link) *core {
	co := &newPipe(clock.System, nil).core
	for _, l := range links {
		co.connect(l)
	}
	return co
}

// connect gives a core a connection that has carried no answer yet; none if l is nil.
func (co *core) connect(l link.Link) {
	if l != nil {
		co.conn.state, co.conn.link = connFresh, l
	}
}

// fakeLink is a link that does nothing.
type fakeLink struct {
	link.Link
	stream bool
	role   string // of the server
}

func (fakeLink) Put([]byte) {}

func (fakeLink) State() link.State { return link.Usable }

func (l fakeLink) Server() *link.Server {
	if l.role == "" {
		return aServer
	}
	return &link.Server{RunID: "A", Up: epoch, Role: l.role}
}

func (l fakeLink) Streams() bool { return l.stream }

func TestADriverIsStartedOnce(t *testing.T) {
	t.Parallel()
	p := newCore()
	start := func() (fx effects) {
		p.rouse(at(9), &fx)
		return fx
	}
	assert.Equal(t, effects{}, start(), "there is no call")
	p.state.calls.push(anyCall())
	assert.Equal(t, effects{startDriver: true, wakeDriver: true}, start())
	assert.Equal(t, effects{}, start(), "it is running")
	p.driver.busy = false
	assert.Equal(t, effects{wakeDriver: true}, start())
	p.driver.busy, p.closing.closed = false, true
	assert.Equal(t, effects{}, start())
}

// closingLink is a link whose close calls a function.
type closingLink struct {
	link.Link
	whileClosing func()
}

func (l closingLink) Close() { l.whileClosing() }

// The last report must be true, whichever goroutine is first after the decisions.
func TestReportsAreMadeInTheOrderOfTheDecisions(t *testing.T) {
	t.Parallel()
	p := newPipe(clock.System, nil)
	var reported []error
	p.onHealth = func(err error) {
		reported = append(reported, err)
		if len(reported) == 1 {
			p.act(func(*core) effects { return effects{reports: []error{node.ErrBusy}} })
			assert.Len(t, reported, 1)
		}
	}
	recovers := closingLink{whileClosing: func() {
		p.act(func(*core) effects { return effects{reports: []error{nil}} })
	}}
	p.act(func(*core) effects { return effects{reports: []error{errBroken}, close: []link.Link{recovers}} })
	assert.Equal(t, []error{errBroken, nil, node.ErrBusy}, reported)
}

// A call may expire in the queue while the driver rests, or before it runs. That shows nothing of the master.
func TestAMasterThatIsAskedNothingIsNotJudged(t *testing.T) {
	t.Parallel()
	p := newCore(fakeLink{})
	p.conn.silentSince = at(1)
	p.judge([]delivery{{anyCall(), unsent(node.ErrTimeout)}}, at(10), &effects{})
	assert.Nil(t, p.state.health.suspect)

	require.NoError(t, p.submit(anyCall(), &effects{}))
	require.True(t, p.driver.busy)
	assert.Len(t, p.tick(at(10)).deliveries, 1)
	assert.Nil(t, p.state.health.suspect, "the process was paused for longer than the call's time")

	require.NoError(t, p.submit(anyCall(func(c *Call) { c.Asked, c.Deadline = at(11), at(12) }), &effects{}))
	next, _ := p.nextTask(at(11))
	require.Equal(t, doFlush, next.do)
	assert.Len(t, p.tick(at(12)).deliveries, 1)
	assert.NotNil(t, p.state.health.suspect, "the control: it was asked")
}

// A probe and an extension have no Connect, or a short one. Their end must not fail the acquires that wait for longer.
func TestACallDoesNotShortenAnAttemptToConnect(t *testing.T) {
	t.Parallel()
	p := newCore()
	for _, connect := range []time.Duration{0, 10 * time.Second, 2 * time.Second} {
		require.NoError(t, p.submit(anyCall(func(c *Call) { c.Connect = connect }), &effects{}))
	}
	next, _ := p.nextTask(at(9))
	require.Equal(t, doConnect, next.do)
	for _, due := range []float64{10, 11} {
		assert.Len(t, p.tick(at(due)).deliveries, 1)
		assert.Nil(t, p.state.health.suspect)
	}
	assert.Len(t, p.tick(at(19)).deliveries, 1)
	assert.NotNil(t, p.state.health.suspect, "the control: the longest one is over")
}

func TestAPipeRefusesACallForWhichARightIsMissing(t *testing.T) {
	t.Parallel()
	p := newCore()
	require.NoError(t, p.refusal(anyCall()))
	require.NotNil(t, p.state.rights.handshake(link.ScriptRight{Err: errBroken}, at(8.5)))
	require.ErrorIs(t, p.refusal(anyCall()), errBroken)
	assert.NoError(t, p.refusal(anyCall(durable)))
}

// A link that never streams asks by itself, and a server that did not tell its role is not asked again.
func TestWhichBatchIsPrecededByTheQuestionForTheRole(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		link  fakeLink
		after time.Duration // the last question
		asks  bool
	}{
		"it is due":                {fakeLink{stream: true, role: "master"}, roleInterval, true},
		"it is early":              {fakeLink{stream: true, role: "master"}, roleInterval - 1, false},
		"the link asks by itself":  {fakeLink{role: "master"}, roleInterval, false},
		"the server tells no role": {fakeLink{stream: true}, roleInterval, false},
	} {
		p := newCore(c.link)
		p.conn.roleAt = at(8)
		p.state.calls.push(anyCall())
		p.send(at(8).Add(c.after), &effects{})
		assert.Equal(t, c.asks, p.state.calls.written[0].Op == askRole, name)
	}
}

func TestWhenTheNextBatchIsSentAhead(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(p *core){
		"a far master":             nil, // and one batch is outstanding, and a call waits
		"a near master":            func(p *core) { p.state.pacing.rtt.measure(time.Millisecond, at(9)) },
		"a link that cannot":       func(p *core) { p.conn.link = fakeLink{} },
		"no connection":            func(p *core) { p.conn = connection{} },
		"no batch is outstanding":  func(p *core) { p.state.calls.written = nil },
		"no call waits":            func(p *core) { p.state.calls.queue = nil },
		"a suspect master":         func(p *core) { p.state.health.fail(errBroken, at(9)) },
		"a batch is being written": func(p *core) { p.conn.writer = p.conn.link },
		"a PING is outstanding":    func(p *core) { p.state.calls.written = nil; p.state.calls.ask(ping, 0, at(9)) },
		"a successor waits":        func(p *core) { p.conn.successor = fakeLink{} }, // so the connection is closed
		"a closed pipe":            func(p *core) { p.closing.closed = true },
	} {
		p := newCore(fakeLink{stream: true})
		p.state.calls = inflight{written: releases(1), queue: releases(1)}
		p.state.pacing.lastSent = at(9)
		p.state.pacing.rtt.measure(16*time.Millisecond, at(9))
		want := at(9).Add(2 * time.Millisecond)
		if change != nil {
			change(p)
			want = time.Time{}
		}
		var fx effects
		p.scheduleNext(&fx)
		assert.Equal(t, want, fx.sendAheadAt, name)
	}
}

func TestTheStatsOfAPipe(t *testing.T) {
	t.Parallel()
	p := newCore()
	statsOf := func() (s Stats) {
		p.stats(&s)
		return s
	}
	assert.Equal(t, Stats{}, statsOf())
	asked := func(c *Call) { c.Voter = voterFunc(nil) }
	needless := anyCall(durable, voted, func(c *Call) { c.Written = new(atomic.Bool) })
	p.state.calls = inflight{
		written: []*Call{anyCall(durable, asked), anyCall(durable, asked)},
		queue:   []*Call{anyCall(durable, voted), anyCall(voted), needless},
	}
	p.state.health.fail(errBroken, at(9))
	p.state.rights.handshake(link.ScriptRight{Err: errBroken}, at(9))
	p.conn.server = aServer
	for _, own := range []*Op{ping, askRole, askServer, anyScript} {
		p.state.calls.ask(own, 0, at(9))
	}
	s := statsOf()
	assert.Equal(t, errBroken, s.Suspect)
	require.ErrorIs(t, s.Barred, errBroken)
	assert.Same(t, aServer, s.Server)
	assert.Equal(t, []int{3, 2, 1}, []int{s.Queued, s.InFlight, s.Unconfirmed})
}

func TestNoBatchIsSentAheadTooEarlyOrToASilentMaster(t *testing.T) {
	t.Parallel()
	p := newCore(fakeLink{stream: true})
	p.state.calls = inflight{written: releases(1), queue: releases(1)}
	p.state.pacing.lastSent, p.conn.silentSince = at(9), at(9)
	p.state.pacing.rtt.measure(16*time.Millisecond, at(9))
	next, fx := p.nextAhead(at(9.001))
	assert.Equal(t, doNothing, next.do)
	assert.Equal(t, at(9.002), fx.sendAheadAt)
	next, fx = p.nextAhead(at(9.033))
	assert.Equal(t, doNothing, next.do)
	assert.Zero(t, fx.sendAheadAt)
}

func TestADriverRestsIfItCannotConnect(t *testing.T) {
	t.Parallel()
	p := newCore()
	p.driver.busy, p.conn.state = true, connDialing
	fx, more := p.connected(nil, errBroken, at(9))
	assert.False(t, more)
	assert.False(t, p.driver.busy)
	assert.Equal(t, at(9), fx.now)
	assert.Equal(t, []error{errBroken}, fx.reports)
}

// While connecting, the vote is due as late as Connect allows. Afterwards it is due earlier.
func TestTheVoteOfACallIsDueAfterConnecting(t *testing.T) {
	t.Parallel()
	p := newCore()
	var fx effects
	require.NoError(t, p.submit(anyCall(func(c *Call) { c.Connect = 20 * time.Second }), &fx))
	next, _ := p.nextTask(at(9))
	require.Equal(t, doConnect, next.do)
	require.Equal(t, at(29), p.tick(at(10)).tickBy)
	fx, _ = p.connected(fakeLink{}, nil, at(10.5))
	assert.Equal(t, at(11.5), fx.tickBy)
	assert.Equal(t, at(9), p.conn.roleAt, "not later than it was asked")
	next, _ = p.nextTask(at(10.5))
	require.Equal(t, doFlush, next.do)
	assert.Len(t, p.tick(at(11.5)).deliveries, 1)
	assert.NotNil(t, p.state.health.suspect)
}

func TestABatchIsCounted(t *testing.T) {
	t.Parallel()
	p := newCore(fakeLink{})
	p.state.calls.queue = releases(2)
	assert.Equal(t, doFlush, p.send(at(9), &effects{}).do)
	assert.Equal(t, doNothing, p.send(at(9), &effects{}).do, "nothing is left")
	assert.Equal(t, batches{1, 2}, p.batches)
}

func TestTheDriverYieldsBeforeABatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first  int             // calls of the batch before
		before []func(p *core) // what happens before each task
		want   []action
	}{
		"several callers": {
			2, []func(p *core){1: func(p *core) { p.state.calls.push(anyCall()) }}, []action{doYield, doFlush},
		},
		// Two questions of the node itself went ahead of its call.
		"a lone caller":      {1, nil, []action{doFlush}},
		"the pipe is closed": {2, []func(p *core){1: func(p *core) { p.closing.closed = true }}, []action{doYield, doRest}},
		"replies are due": {
			2, []func(p *core){0: func(p *core) { p.state.calls.written = releases(1) }}, []action{doReceive},
		},
		"nothing waits": {2, []func(p *core){0: func(p *core) { p.state.calls.queue = nil }}, []action{doRest}},
		"a write has not returned": {
			2,
			[]func(p *core){func(p *core) { p.conn.writer = p.conn.link }, func(p *core) { p.conn.writer = nil }},
			[]action{doAwaitWriter, doYield, doFlush},
		},
		// The master is tried at once. Calls that are submitted meanwhile fail, so none would join the batch.
		"a suspect master": {
			2, []func(p *core){0: func(p *core) { p.state.health.fail(errBroken, at(1)) }}, []action{doFlush},
		},
	} {
		p := newCore(fakeLink{stream: true, role: "master"})
		p.state.calls.queue, p.state.servers.doubt = releases(c.first), true
		p.send(at(8), &effects{})
		require.Len(t, p.state.calls.written, c.first+2)
		p.conn.writer, p.state.calls = nil, inflight{queue: releases(1)}
		for i, want := range c.want {
			if i < len(c.before) && c.before[i] != nil {
				c.before[i](p)
			}
			next, _ := p.nextTask(at(9))
			assert.Equal(t, want, next.do, name)
		}
	}
}

// The test is not parallel: it needs the only processor for itself and the callers.
func TestCallsJoinABatchDuringTheYield(t *testing.T) { //nolint:paralleltest // see above
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := newPipe(clock.System, nil)
	p.core.connect(fakeLink{})
	p.core.driver.busy = true
	p.core.state.calls.queue = []*Call{anyCall()}
	queued := 1
	var callers sync.WaitGroup
	callers.Go(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.core.state.calls.push(anyCall())
	})
	for range 4 { // every 61st time, the scheduler prefers the goroutine that has yielded
		p.core.state.pacing.yield = yield{batch: 2} // only the driver uses it
		require.True(t, p.driveOnce())
		require.False(t, p.core.state.pacing.yield.began.IsZero(), "it has yielded")
		p.mu.Lock()
		queued = max(queued, len(p.core.state.calls.queue))
		p.mu.Unlock()
	}
	assert.Equal(t, 2, queued)
	callers.Wait()
}

// A yield is measured from one reading to the next, see [yield].
func TestTheDriverReadsTheClockForEachTask(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPipe(clock.System, nil)
		p.core.connect(fakeLink{})
		p.core.driver.busy, p.core.state.calls.queue = true, []*Call{anyCall()}
		p.core.state.pacing.yield.batch = 2
		for range 2 {
			want := time.Now()
			require.True(t, p.driveOnce())
			assert.Equal(t, want, p.core.state.pacing.yield.began)
			p.core.state.pacing.yield.began = time.Time{}
			time.Sleep(longYield)
		}
	})
}

// The receiver would wait for replies otherwise.
func TestAConnectionToWhichAWriteFailsIsClosed(t *testing.T) {
	t.Parallel()
	p := newPipe(clock.System, nil)
	l := &slowLink{closed: make(chan struct{})}
	p.finishWrite(l, nil)
	select {
	case <-l.closed:
		assert.Fail(t, "closed")
	default:
	}
	p.finishWrite(l, errBroken)
	<-l.closed
}

// The end of a write and a reply allow the next batch to be sent ahead.
func TestWhenTheNextBatchIsScheduled(t *testing.T) {
	t.Parallel()
	l := fakeLink{stream: true}
	for name, f := range map[string]func(p *core) effects{
		"a write has ended": func(p *core) effects { return p.wrote(l) },
		"a reply has arrived": func(p *core) effects {
			return p.settle(l, []link.Reply{{Value: int64(1)}}, nil, nil, at(9.01))
		},
	} {
		p := newCore(l)
		p.state.calls = inflight{written: releases(2), queue: releases(1)}
		for _, c := range p.state.calls.written {
			c.setSent(at(9))
		}
		p.state.pacing.lastSent = at(9)
		p.state.pacing.rtt.measure(8*time.Millisecond, at(9))
		assert.Equal(t, at(9.001), f(p).sendAheadAt, name)
	}
}

func TestAReplyEndsTheSilence(t *testing.T) {
	t.Parallel()
	p := newCore(fakeLink{})
	p.conn.silentSince, p.state.calls.written = at(8), releases(2)
	p.settle(p.conn.link, []link.Reply{{Value: int64(1)}}, nil, nil, at(9))
	assert.Equal(t, at(9), p.conn.silentSince)
	p.settle(p.conn.link, nil, errBroken, nil, at(10))
	assert.Equal(t, at(9), p.conn.silentSince)
}
