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
	slow                bool // its release takes some time
	published, released int
}

func (l *lock) Policy() waitqueue.Policy         { return mutex("").Policy }
func (l *lock) Validity(time.Time) time.Duration { return l.validity }
func (l *lock) Publish()                         { l.published++ }

func (l *lock) Release() {
	l.released++
	if !l.slow {
		l.hold.Released(epoch, false)
	}
}

// passes has the lock handed over with its lease.
func (l *lock) passes(now time.Time) bool { return l.hold.HandOver(l, now) == waitqueue.WithLease }

// keepsSilent has the release of the lock be silent.
func (l *lock) keepsSilent(now time.Time) bool { return l.hold.HandOver(l, now) == waitqueue.Silently }

var epoch = time.Unix(1_000_000_000, 0)

// process is the Queues of one process whose clock only the test moves.
type process struct {
	*waitqueue.Queues
	t             *testing.T
	now           time.Time
	told          map[*waitqueue.Waiter]waitqueue.Instruction // the last instruction of each waiter
	toldAt        map[*waitqueue.Waiter]time.Time
	subscriptions []*subscription // those that have not ended
}

// subscription is a subscription for releases of names.
type subscription struct {
	process *process
	names   []string
	news    func()
	due     bool
}

func (s *subscription) Stop() {
	i := slices.Index(s.process.subscriptions, s)
	s.process.subscriptions = slices.Delete(s.process.subscriptions, i, i+1)
}

func (s *subscription) Take() (due bool) {
	due, s.due = s.due, false
	return due
}

// message is a release message from a majority.
func (s *subscription) message() {
	s.due = true
	s.news()
}

func newProcess(t *testing.T) *process {
	t.Helper()
	p := &process{
		t: t, now: epoch, told: make(map[*waitqueue.Waiter]waitqueue.Instruction),
		toldAt: make(map[*waitqueue.Waiter]time.Time),
	}
	p.Queues = waitqueue.New(waitqueue.Config{
		Now: func() time.Time { return p.now },
		Listen: func(names []string, news func()) waitqueue.Subscription {
			p.subscriptions = append(p.subscriptions, &subscription{process: p, names: names, news: news})
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
		Names: []string{name}, Kind: "mutex", Width: 1,
		Policy: waitqueue.Policy{Cohort: true, ReuseLease: true, TTL: time.Minute},
	}
}

func try(r waitqueue.Request) waitqueue.Request {
	r.Try = true
	return r
}

func writer(name string) waitqueue.Request {
	r := mutex(name)
	r.Kind, r.Policy = "writer", waitqueue.Policy{TTL: time.Minute}
	return r
}

func reader(name string) waitqueue.Request {
	r := writer(name)
	r.Kind, r.Width = "reader", waitqueue.Unbounded
	return r
}

func reentrant(name, owner string) waitqueue.Request {
	r := writer(name)
	r.Kind, r.Owner = "reentrant", owner
	return r
}

func permit(name string, slots int) waitqueue.Request {
	r := mutex(name)
	r.Kind, r.Width, r.Slotted = "semaphore", slots, true
	return r
}

func (p *process) join(r waitqueue.Request) *waitqueue.Waiter {
	p.t.Helper()
	w := new(waitqueue.Waiter)
	p.Join(w, r)
	do := w.Next()
	require.NoError(p.t, do.Err)
	p.tell(w, do)
	return w
}

func (p *process) tell(w *waitqueue.Waiter, do waitqueue.Instruction) {
	p.told[w], p.toldAt[w] = do, p.now
}

func (p *process) joinError(r waitqueue.Request) error {
	p.t.Helper()
	w := new(waitqueue.Waiter)
	p.Join(w, r)
	do := w.Next()
	require.Equal(p.t, waitqueue.Fail, do.Action)
	w.Leave()
	return do.Err
}

// next returns what a waiter is to do. If that has changed while it waited, the waiter must have been woken.
func (p *process) next(w *waitqueue.Waiter) waitqueue.Instruction {
	p.t.Helper()
	woken, before := len(w.Woken()) > 0, p.told[w]
	do := w.Next()
	timer := before.After > 0 && !p.now.Before(p.toldAt[w].Add(before.After))
	if before.Action == waitqueue.Wait && do.Action != waitqueue.Wait {
		require.True(p.t, woken || timer, "nobody woke the waiter, which is to do %+v", do)
	}
	p.tell(w, do)
	return do
}

func (p *process) asks(w *waitqueue.Waiter, after time.Duration) {
	p.t.Helper()
	do, want := p.next(w), waitqueue.Ask
	if after > 0 {
		want = waitqueue.Wait
	}
	assert.Equal(p.t, want, do.Action)
	assert.Equal(p.t, after, do.After)
}

func (p *process) fails(w *waitqueue.Waiter, want error) {
	p.t.Helper()
	do := p.next(w)
	assert.Equal(p.t, waitqueue.Fail, do.Action)
	assert.ErrorIs(p.t, do.Err, want)
}

// waits checks that waiters wait for their turn.
func (p *process) waits(ws ...*waitqueue.Waiter) {
	p.t.Helper()
	for i, w := range ws {
		do := p.next(w)
		assert.Equal(p.t, waitqueue.Wait, do.Action, i)
		assert.Zero(p.t, do.After, i)
	}
}

// pauses checks that a waiter pauses.
func (p *process) pauses(w *waitqueue.Waiter) {
	p.t.Helper()
	assert.Positive(p.t, p.next(w).After)
}

// failed has an attempt of the waiter fail.
func (p *process) failed(w *waitqueue.Waiter, err error, denied bool) {
	p.t.Helper()
	p.asks(w, 0)
	w.Failed(err, denied)
	p.tell(w, w.Next())
}

// probes checks that the waiter is to probe, after an attempt that failed with an error.
func (p *process) probes(w *waitqueue.Waiter, err error) {
	p.t.Helper()
	do := p.next(w)
	assert.Equal(p.t, waitqueue.Probe, do.Action)
	assert.Equal(p.t, err, do.Err)
}

// pause has the waiter listen, and pause for a minute.
func (p *process) pause(w *waitqueue.Waiter) {
	p.t.Helper()
	require.Equal(p.t, waitqueue.Probe, p.next(w).Action)
	w.Listen()
	w.Pause(time.Minute)
	p.tell(w, w.Next())
}

// denied has the waiter be denied, and pause for a minute.
func (p *process) denied(w *waitqueue.Waiter) {
	p.t.Helper()
	p.failed(w, errHeld, true)
	p.pause(w)
}

// grant has the waiter acquire the lock with a round of requests that took a millisecond.
func (p *process) grant(w *waitqueue.Waiter) *lock {
	p.t.Helper()
	p.asks(w, 0)
	l := &lock{validity: time.Minute}
	w.Granted(&l.hold, p.now, p.now.Add(time.Millisecond))
	return l
}

// permit has the waiter choose a slot and get it.
func (p *process) permit(w *waitqueue.Waiter) *lock {
	p.t.Helper()
	_, l := p.permitAt(w)
	return l
}

// permitAt has the waiter choose a slot and get it, and returns the slot, too.
func (p *process) permitAt(w *waitqueue.Waiter) (slot int, l *lock) {
	p.t.Helper()
	p.asks(w, 0)
	slot = w.ChooseSlot(nil)
	require.Positive(p.t, slot)
	l = &lock{validity: time.Minute}
	w.Granted(&l.hold, p.now, p.now)
	return slot, l
}

// inherit has the waiter take the lease of a lock.
func (p *process) inherit(w *waitqueue.Waiter, from *lock) *lock {
	p.t.Helper()
	do := p.next(w)
	require.Equal(p.t, waitqueue.Inherit, do.Action)
	require.Same(p.t, from, do.Lock)
	l := &lock{validity: time.Minute}
	w.Inherited(&l.hold)
	return l
}
