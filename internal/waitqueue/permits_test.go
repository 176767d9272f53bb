package waitqueue_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// holders has callers acquire n permits.
func (p *process) holders(r waitqueue.Request, n int) (held []*lock) {
	p.t.Helper()
	for range n {
		held = append(held, p.permit(p.join(r)))
	}
	return held
}

func TestAPermitIsPassedToTheOldestWaiter(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{"it pauses": true, "it asks the masters": false}, func(t *testing.T, pausing bool) {
		p := newProcess(t)
		held := p.permit(p.join(permit("x", 2)))
		oldest := p.join(permit("x", 2))
		p.refused(oldest)
		next := p.join(permit("x", 2))
		if pausing {
			p.pause(oldest)
		}
		require.True(t, held.passes(p.now))
		got := next
		if pausing {
			got = oldest
		}
		successor := p.inherit(got, held)
		last := p.join(permit("x", 2))
		if pausing {
			p.asks(next, 0) // one of two permits is free
		}
		p.waits(last)
		successor.hold.Released(p.now, false)
	})
}

func TestAReasonEndsWithTheLastCaller(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 2)))
	a := p.join(permit("x", 2))
	p.failed(a, errLost, true)
	a.Leave()
	tried := p.join(try(permit("x", 2)))
	p.asks(tried, 0)
	assert.NoError(t, tried.Reason())
	tried.Leave()
	held.hold.Released(p.now, false)
}

func TestACallerThatYieldsInherits(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held, w := p.wanted(2)
	held[0].hold.Published(3, p.now)
	held[0].hold.Released(p.now, false)
	p.pauses(w)
	require.True(t, held[1].passes(p.now))
	p.inherit(w, held[1])
}

func TestAReleaseOfAPermitIsNeverSilent(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 1)))
	held.validity = 0
	p.join(permit("x", 1))
	assert.Equal(t, waitqueue.ByMessage, held.hold.HandOver(held, p.now))
}

// After a denial one caller asks at a time. Each caller that is granted at once, without a wait for a release, lets
// one more ask.
func TestHowManyAskAfterADenial(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a := p.join(permit("x", 100))
	p.refused(a)
	p.pause(a)
	var waiters []*waitqueue.Waiter
	for range 20 {
		waiters = append(waiters, p.join(permit("x", 100)))
	}
	p.waits(waiters...)
	require.ErrorIs(t, waiters[0].Reason(), errHeld)
	asking := func() (all []*waitqueue.Waiter) {
		for _, w := range waiters {
			if do := p.next(w); do.Action == waitqueue.Ask || do.After > 0 {
				all = append(all, w)
			}
		}
		return all
	}
	p.now = p.now.Add(time.Minute)
	p.permit(a)
	for _, n := range []int{1, 2, 4, 8} {
		now := asking()
		require.Len(t, now, n)
		for _, w := range now {
			p.permit(w)
		}
	}
}
