package waitqueue_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

var (
	errHeld = errors.New("held by this process")
	errLost = errors.New("no quorum")
)

// lock is a waitqueue.Lock that counts what is done to it.
type lock struct {
	hold                waitqueue.Hold
	validity            time.Duration
	published, released int
}

func (l *lock) Policy() waitqueue.Policy         { return mutex("").Policy }
func (l *lock) Validity(time.Time) time.Duration { return l.validity }
func (l *lock) Publish()                         { l.published++ }
func (l *lock) Release()                         { l.released++; l.hold.Released(l.time(), false) }
func (*lock) time() time.Time                    { return epoch }

var epoch = time.Unix(1_000_000_000, 0)

// process is the Queues of one process whose clock only the test moves.
type process struct {
	*waitqueue.Queues
	t             *testing.T
	now           time.Time
	subscriptions []*subscription // those that have not ended
}

// subscription is a subscription for releases of names.
type subscription struct {
	process *process
	names   []string
}

func (s *subscription) Stop() {
	i := slices.Index(s.process.subscriptions, s)
	s.process.subscriptions = slices.Delete(s.process.subscriptions, i, i+1)
}

func newProcess(t *testing.T) *process {
	t.Helper()
	p := &process{t: t, now: epoch}
	p.Queues = waitqueue.New(waitqueue.Config{
		Now: func() time.Time { return p.now },
		Listen: func(names []string) waitqueue.Subscription {
			p.subscriptions = append(p.subscriptions, &subscription{p, names})
			return p.subscriptions[len(p.subscriptions)-1]
		},
		HeldError: func(name, kind, holder string) error {
			return errors.Join(errHeld, errors.New(name+" "+kind+" "+holder))
		},
	})
	return p
}

// mutex is the request of a Lock on a name.
func mutex(name string) waitqueue.Request {
	return waitqueue.Request{
		Key: waitqueue.KeyOf([]string{name}), Names: []string{name}, Kind: "mutex",
		Policy: waitqueue.Policy{Cohort: true, ReuseLease: true, TTL: time.Minute},
	}
}

func try(name string) waitqueue.Request {
	r := mutex(name)
	r.Try = true
	return r
}

func writer(name string) waitqueue.Request {
	r := mutex(name)
	r.Kind, r.Policy = "writer", waitqueue.Policy{TTL: time.Minute}
	return r
}

func reentrant(name, owner string) waitqueue.Request {
	r := writer(name)
	r.Kind, r.Owner = "reentrant", owner
	return r
}

func (p *process) join(r waitqueue.Request) *waitqueue.Waiter {
	p.t.Helper()
	w, err := p.Join(r)
	require.NoError(p.t, err)
	return w
}

// turn returns the wake-up that the waiter must have got.
func (p *process) turn(w *waitqueue.Waiter) waitqueue.Wakeup {
	p.t.Helper()
	select {
	case turn := <-w.Wakeups():
		return turn
	default:
		require.Fail(p.t, "the waiter has no wake-up")
		return waitqueue.Wakeup{}
	}
}

func (p *process) asks(w *waitqueue.Waiter, after time.Duration) {
	p.t.Helper()
	turn := p.turn(w)
	assert.Equal(p.t, waitqueue.Ask, turn.Action)
	assert.Equal(p.t, after, turn.Delay)
}

func (p *process) fails(w *waitqueue.Waiter, want error) {
	p.t.Helper()
	turn := p.turn(w)
	assert.Equal(p.t, waitqueue.Fail, turn.Action)
	assert.ErrorIs(p.t, turn.Err, want)
}

// failed has an attempt of the waiter fail.
func (p *process) failed(w *waitqueue.Waiter, err error, heldElsewhere bool) {
	select {
	case <-w.Wakeups():
	default:
	}
	w.Failed(err, heldElsewhere)
}

// watches checks that the waiter has the turn to watch, after an attempt that failed with an error.
func (p *process) watches(w *waitqueue.Waiter, err error) {
	p.t.Helper()
	turn := p.turn(w)
	assert.Equal(p.t, waitqueue.Watch, turn.Action)
	assert.Equal(p.t, err, turn.Err)
}

func (p *process) waits(ws ...*waitqueue.Waiter) {
	p.t.Helper()
	for _, w := range ws {
		assert.Empty(p.t, w.Wakeups())
		assert.Empty(p.t, w.Nudges())
	}
}

// grant has the waiter acquire the lock with a round of requests that took a millisecond.
func (p *process) grant(w *waitqueue.Waiter) *lock {
	l := &lock{validity: time.Minute}
	w.Granted(&l.hold, p.now, p.now.Add(time.Millisecond))
	return l
}

func (p *process) joinError(r waitqueue.Request) error {
	p.t.Helper()
	w, err := p.Join(r)
	require.Error(p.t, err)
	assert.Nil(p.t, w)
	return err
}

func TestTurnsInTheOrderOfTheCalls(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c, d := p.join(writer("x")), p.join(mutex("x")), p.join(writer("x")), p.join(writer("x"))
	p.asks(a, 0)
	p.waits(b, c, d)
	la := p.grant(a)
	p.waits(b, c, d)
	b.Leave()
	p.waits(c, d)
	la.hold.Released(p.now, false)
	p.asks(c, 0)
	p.waits(d)
	c.Leave()
	c.Leave()
	p.asks(d, 0)
	ld := p.grant(d)
	d.Leave() // of no effect, since it has the lock
	ld.hold.Released(p.now, false)
	p.asks(p.join(writer("x")), 0)
}

func TestQueuesOfOneName(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	p.asks(p.join(mutex("x")), 0)
	p.waits(p.join(writer("x")))
	p.asks(p.join(reentrant("x", "me")), 0)
	p.waits(p.join(reentrant("x", "you")))
	several := mutex("x")
	several.Key = waitqueue.KeyOf([]string{"x", "y"})
	p.asks(p.join(several), 0)
	p.waits(p.join(several))
	p.asks(p.join(mutex("y")), 0)
	reader := writer("x")
	reader.Width = waitqueue.Unbounded
	p.asks(p.join(reader), 0)
	another := p.join(reader)
	p.asks(another, 0)
	another.Leave()
	p.waits(p.join(writer("x")))
	assert.NotEqual(t, waitqueue.KeyOf([]string{`["x" "y"]`}), waitqueue.KeyOf([]string{"x", "y"}))
	assert.NotEqual(t, waitqueue.KeyOf([]string{"x", `y" "z`}), waitqueue.KeyOf([]string{"x", "y", "z"}))
}

func TestTryLocks(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	head, second := p.join(writer("x")), p.join(try("x"))
	p.asks(head, 0)
	p.waits(second)
	p.failed(head, errLost, false)
	p.fails(second, errLost)
	require.ErrorIs(t, p.joinError(try("x")), errLost, "the head was denied, and has not left")
	require.ErrorIs(t, head.Reason(), errLost)
	third := p.join(writer("x"))
	head.Leave()
	p.asks(third, 0)
	fourth, fifth := p.join(try("x")), p.join(try("x"))
	p.waits(fourth, fifth)
	fifth.Leave()
	l := p.grant(third)
	p.fails(fourth, errHeld)
	p.waits(fifth)
	err := p.joinError(try("x"))
	require.ErrorIs(t, err, errHeld)
	require.ErrorContains(t, err, "x writer")
	l.hold.Lost()
	l.hold.Lost()
	last := p.join(try("x"))
	p.waits(last)
	require.ErrorContains(t, last.Reason(), "x writer")
	l.hold.Released(p.now, false)
	p.asks(last, 0)
	require.NoError(t, last.Reason(), "a grant forgets the reason")
	l.hold.Lost() // of no effect, since it is released
	tried := p.join(try("x"))
	p.waits(tried)
	p.failed(last, errLost, false)
	p.fails(tried, errLost)
	p.watches(last, errLost)
}

// A caller that the queue fails does not get a second answer.
func TestAFailedTryLockLeaves(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	head, tried := p.join(writer("x")), p.join(try("x"))
	p.asks(head, 0)
	p.failed(head, errLost, false)
	p.fails(tried, errLost)
	tried.Leave()
	p.watches(head, errLost)
	p.waits(tried)
}

func TestALeaseIsPassedOn(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b := p.join(mutex("x")), p.join(mutex("x"))
	p.asks(a, 0)
	la := p.grant(a)
	alone := p.grant(p.join(mutex("y")))
	assert.False(t, alone.hold.PassLease(alone, p.now), "there is no waiter")
	la.validity = time.Second
	assert.False(t, la.hold.PassLease(la, p.now), "most of the lease must be left")
	la.validity = time.Minute
	require.True(t, la.hold.PassLease(la, p.now))
	turn := p.turn(b)
	assert.Equal(t, waitqueue.Inherit, turn.Action)
	assert.Same(t, la, turn.Lock)
	require.ErrorIs(t, p.joinError(try("x")), errHeld, "the lock is held in between")
	la.hold.Lost() // of no effect, since it has no lease any more
	c := p.join(mutex("x"))
	lb := &lock{validity: time.Minute}
	b.Inherited(&lb.hold)
	p.waits(c)
	assert.False(t, lb.hold.PassLease(lb, epoch.Add(51*time.Millisecond)), "the cohort began with the first holder")
	lb.hold.Lost()
	assert.False(t, lb.hold.PassLease(lb, p.now), "a lost lock is not passed on")
	lb.hold.Released(p.now, false)
	p.asks(c, 0)
}

// A waiter that gives up while it is given a lease releases the lock; then it is the next waiter's turn.
func TestAPassedLeaseWhoseWaiterGivesUp(t *testing.T) {
	t.Parallel()
	for _, received := range []bool{false, true} {
		p := newProcess(t)
		a, b, c := p.join(mutex("x")), p.join(mutex("x")), p.join(mutex("x"))
		p.asks(a, 0)
		la := p.grant(a)
		require.True(t, la.hold.PassLease(la, p.now))
		if received {
			p.turn(b)
		}
		b.Leave()
		assert.Equal(t, 1, la.released)
		p.asks(c, 0)
		c.Leave()
		assert.Equal(t, 1, la.released)
	}
}

func TestASilentRelease(t *testing.T) {
	t.Parallel()
	// silent has three callers wait for x, and releases the first one's lock silently.
	silent := func(t *testing.T) (p *process, l *lock, b, c *waitqueue.Waiter) {
		t.Helper()
		p = newProcess(t)
		a := p.join(mutex("x"))
		b, c = p.join(mutex("x")), p.join(mutex("x"))
		p.asks(a, 0)
		l = p.grant(a)
		require.True(t, l.hold.KeepSilent(l, p.now))
		l.hold.Released(p.now, true)
		p.asks(b, 0)
		return p, l, b, c
	}
	t.Run("is not published if the next waiter acquires the lock", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		p.now = epoch.Add(10 * time.Millisecond)
		lb := p.grant(b)
		assert.Zero(t, l.published)
		assert.False(t, lb.hold.KeepSilent(lb, epoch.Add(22*time.Millisecond)), "the cohort continues")
		assert.True(t, lb.hold.KeepSilent(lb, epoch.Add(20*time.Millisecond)))
		c.Leave()
		assert.Zero(t, lb.published)
		lb.hold.Released(p.now, true)
		assert.Equal(t, 1, lb.published, "there is no waiter left")
	})
	t.Run("is not published after another release was", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		lb := p.grant(b)
		c.Leave()
		lb.hold.Released(p.now, false)
		assert.Zero(t, l.published)
	})
	t.Run("is not published if the lock turns out to be held", func(t *testing.T) {
		t.Parallel()
		p, l, b, _ := silent(t)
		p.failed(b, errHeld, true)
		assert.Zero(t, l.published)
	})
	t.Run("is published once if the next waiter fails", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		p.failed(b, errLost, false)
		p.failed(b, errLost, false)
		assert.Equal(t, 1, l.published)
		p.now = epoch.Add(10 * time.Millisecond)
		lb := p.grant(b)
		assert.True(t, lb.hold.KeepSilent(lb, epoch.Add(30*time.Millisecond)), "a new cohort")
		c.Leave()
	})
	t.Run("is published if all waiters leave", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		b.Leave()
		p.asks(c, 0)
		assert.Zero(t, l.published)
		c.Leave()
		assert.Equal(t, 1, l.published)
	})
	t.Run("is published if the next waiter leaves after the budget", func(t *testing.T) {
		t.Parallel()
		p, l, b, c := silent(t)
		p.now = p.now.Add(time.Second)
		b.Leave()
		assert.Equal(t, 1, l.published)
		p.asks(c, 0)
		c.Leave()
		assert.Equal(t, 1, l.published)
	})
	t.Run("needs a waiter that may have the lock", func(t *testing.T) {
		t.Parallel()
		p := newProcess(t)
		l := p.grant(p.join(mutex("x")))
		assert.False(t, l.hold.KeepSilent(l, p.now))
		p.join(writer("x"))
		assert.False(t, l.hold.KeepSilent(l, p.now))
	})
}

func TestATryLockAfterALossDoesNotWait(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	l := p.grant(p.join(mutex("x")))
	l.hold.Published(3, p.now)
	p.now = p.now.Add(time.Second)
	l.hold.Lost()
	tried := p.join(try("x"))
	l.hold.Released(p.now, false)
	p.asks(tried, 0)
}

func TestALockThatOtherProcessesWaitFor(t *testing.T) {
	t.Parallel()
	const cooldown = 2 * time.Millisecond
	p := newProcess(t)
	l := p.grant(p.join(mutex("x")))
	l.hold.Released(p.now, false)
	l.hold.Published(1, p.now)
	p.now = p.now.Add(cooldown / 2)
	first := p.join(mutex("x"))
	p.asks(first, cooldown/2)
	first.Leave()
	tried := p.join(try("x"))
	p.asks(tried, 0)
	reader := writer("x")
	reader.Width = waitqueue.Unbounded
	p.asks(p.join(reader), 0)
	next := p.join(mutex("x"))
	tried.Leave()
	p.asks(next, cooldown/2)
	p.now = p.now.Add(time.Second)
	l = p.grant(next)
	l.hold.Published(1, p.now)
	second := p.join(mutex("x"))
	l.hold.Released(p.now.Add(30*time.Millisecond), false)
	p.asks(second, 29*time.Millisecond)
	l = p.grant(second)
	l.hold.Published(0, p.now)
	l.hold.Released(p.now.Add(30*time.Millisecond), false)
	p.asks(p.join(mutex("x")), 0)
}

// The yield counts for all locks on the name. The owner of a reentrant lock does not yield to others while it holds it.
func TestAReentrantLockYieldsOnce(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	l := p.grant(p.join(mutex("x")))
	l.hold.Released(p.now, false)
	l.hold.Published(1, p.now)
	alone := reentrant("x", "me")
	alone.Alone = true
	first := p.join(alone)
	p.asks(first, 2*time.Millisecond)
	p.grant(first)
	p.asks(p.join(alone), 0)
}

func TestSubscription(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	several := mutex("x")
	several.Names = []string{"x", "y"}
	several.Key = waitqueue.KeyOf(several.Names)
	a, b := p.join(several), p.join(several)
	assert.Nil(t, a.Subscription())
	a.Listen()
	a.Listen()
	require.Len(t, p.subscriptions, 1)
	assert.Equal(t, several.Names, p.subscriptions[0].names)
	assert.Same(t, p.subscriptions[0], b.Subscription())
	l := p.grant(a)
	l.hold.Published(1, p.now) // the queue itself
	assert.Len(t, p.subscriptions, 1)
	l.hold.Released(p.now, false)
	p.asks(b, 0)
	b.Leave()
	assert.Empty(t, p.subscriptions, "there is no waiter")
}

func TestTheLastWaiterEndsTheSubscription(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.join(mutex("x"))
	a.Listen()
	l := p.grant(a)
	assert.Empty(t, p.subscriptions)
	b := p.join(mutex("x"))
	b.Listen()
	require.True(t, l.hold.PassLease(l, p.now))
	b.Inherited(&waitqueue.Hold{})
	assert.Empty(t, p.subscriptions)
}

func TestAReasonEndsWithItsQueue(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	w := p.join(mutex("x"))
	p.failed(w, errLost, false)
	w.Leave()
	assert.NoError(t, p.join(mutex("x")).Reason())
}

func TestOwnersOfAReentrantLock(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	first := reentrant("x", "me")
	first.Alone = true
	alone := p.join(first)
	assert.Nil(t, alone.Nudges())
	you, me, me2 := p.join(reentrant("x", "you")), p.join(reentrant("x", "me")), p.join(reentrant("x", "me"))
	gone := p.join(reentrant("x", "me"))
	gone.Leave()
	p.asks(you, 0)
	p.grant(alone)
	assert.Len(t, me.Nudges(), 1, "its owner holds the lock")
	assert.Len(t, me2.Nudges(), 1)
	p.waits(you, gone)
	<-me.Nudges()
	<-me2.Nudges()

	l1 := p.grant(me) // without the turn
	<-me2.Nudges()
	l2 := p.grant(me2)
	require.ErrorContains(t, you.Reason(), "x reentrant")
	l1.hold.Released(p.now, false)
	p.failed(you, errHeld, true)
	l2.hold.Released(p.now, false)
	p.watches(you, errHeld)
	require.ErrorIs(t, you.Reason(), errHeld)
	later := p.join(reentrant("x", "me"))
	p.Nudge(waitqueue.KeyOf([]string{"x"}), "me")
	p.Nudge(waitqueue.KeyOf([]string{"x"}), "unknown")
	p.Nudge(waitqueue.KeyOf([]string{"z"}), "me")
	<-later.Nudges()
	p.waits(later)
	you.Leave()
	p.asks(later, 0)
}

func TestAHoldInNoQueue(t *testing.T) {
	t.Parallel()
	var h waitqueue.Hold
	h.Released(epoch, true)
	h.Published(1, epoch)
	h.Lost()
	assert.False(t, h.PassLease(nil, epoch))
	assert.False(t, h.KeepSilent(nil, epoch))
}

// A lock without contention costs the queue, its waiter, and the waiter's channel with its buffer.
func TestUncontendedAllocations(t *testing.T) {
	p := newProcess(t)
	r := mutex("x")
	var l lock
	assert.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		w, _ := p.Join(r)
		<-w.Wakeups()
		w.Granted(&l.hold, epoch, epoch)
		l.hold.KeepSilent(&l, epoch)
		l.hold.Released(epoch, false)
		l.hold.Published(0, epoch)
	}), 4.0)
}
