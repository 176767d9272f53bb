package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// shortLease has the waiter acquire a lock whose lease is not worth passing on.
func (p *process) shortLease(w *waitqueue.Waiter) *lock {
	p.t.Helper()
	l := p.grant(w)
	l.validity = 0
	return l
}

func TestASilentRelease(t *testing.T) {
	t.Parallel()
	type testCase struct {
		then      func(p *process, l *lock, b, c *waitqueue.Waiter) // b has the turn, c waits
		published int
	}
	testmain.Each(t, map[string]testCase{
		"is not published if the next waiter acquires the lock": {func(p *process, _ *lock, b, c *waitqueue.Waiter) {
			p.now = epoch.Add(10 * time.Millisecond)
			lb := p.shortLease(b)
			assert.False(p.t, lb.keepsSilent(epoch.Add(22*time.Millisecond)), "the cohort continues")
			assert.True(p.t, lb.keepsSilent(epoch.Add(20*time.Millisecond)))
			c.Leave()
			assert.Zero(p.t, lb.published)
			lb.hold.Released(p.now, true)
			assert.Equal(p.t, 1, lb.published, "there is no waiter left")
		}, 0},
		"is not published after another release was": {func(p *process, _ *lock, b, c *waitqueue.Waiter) {
			lb := p.shortLease(b)
			c.Leave()
			lb.hold.Released(p.now, false)
		}, 0},
		"is published once if the next waiter is denied": {func(p *process, l *lock, b, c *waitqueue.Waiter) {
			p.failed(b, errHeld, true) // perhaps by a contender that gets no majority either
			assert.Equal(p.t, 1, l.published)
			b.Leave()
			c.Leave()
		}, 1},
		"is published once if the next waiter fails": {func(p *process, l *lock, b, c *waitqueue.Waiter) {
			p.failed(b, errLost, false)
			assert.Equal(p.t, 1, l.published)
			for range 2 {
				p.pause(b)
				p.now = p.now.Add(time.Minute)
				p.failed(b, errLost, false)
			}
			p.pause(b)
			p.now = p.now.Add(time.Minute)
			lb := p.shortLease(b)
			assert.True(p.t, lb.keepsSilent(p.now.Add(20*time.Millisecond)), "a new cohort")
			c.Leave()
		}, 1},
		"is published if all waiters leave": {func(p *process, l *lock, b, c *waitqueue.Waiter) {
			b.Leave()
			p.asks(c, 0)
			assert.Zero(p.t, l.published)
			c.Leave()
		}, 1},
		"is published if the next waiter leaves after the budget": {func(p *process, l *lock, b, c *waitqueue.Waiter) {
			p.now = p.now.Add(time.Second)
			b.Leave()
			assert.Equal(p.t, 1, l.published)
			p.asks(c, 0)
			c.Leave()
		}, 1},
		"yields after the budget if others wait": {func(p *process, l *lock, b, c *waitqueue.Waiter) {
			l.hold.Published(1, p.now)
			p.now = p.now.Add(time.Second)
			b.Leave()
			p.asks(c, 2*time.Millisecond)
		}, 1},
		"yields after the last waiter left if others wait": {func(p *process, l *lock, b, c *waitqueue.Waiter) {
			l.hold.Published(1, p.now)
			p.now = p.now.Add(30 * time.Millisecond)
			c.Leave()
			b.Leave()
			p.asks(p.join(mutex("x")), 2*time.Millisecond)
		}, 1},
		"is published if the next one may not have it": {func(p *process, _ *lock, b, c *waitqueue.Waiter) {
			c.Leave()
			other := p.join(writer("x"))
			b.Leave()
			p.asks(other, 0)
		}, 1},
	}, func(t *testing.T, tc testCase) {
		p := newProcess(t)
		a, b, c := p.join(mutex("x")), p.join(mutex("x")), p.join(mutex("x"))
		l := p.shortLease(a)
		require.True(t, l.keepsSilent(p.now))
		l.hold.Released(p.now, true)
		p.asks(b, 0)
		tc.then(p, l, b, c)
		assert.Equal(t, tc.published, l.published)
	})
}
