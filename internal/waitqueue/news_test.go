package waitqueue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/waitqueue"
)

// Callers that are denied together give their turns back, and one of them watches: the first in the order of the calls.
// The order in which they are denied does not matter. If it leaves, the next one watches.
func TestOfTheCallersThatAreDeniedTheFirstWatches(t *testing.T) {
	t.Parallel()
	for _, r := range []waitqueue.Request{permit("x", 4), reader("x")} {
		for _, denied := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}} {
			t.Run(fmt.Sprint(r.Kind, denied), func(t *testing.T) {
				t.Parallel()
				p := newProcess(t)
				var ws []*waitqueue.Waiter
				for range 4 {
					ws = append(ws, p.join(r))
				}
				for _, i := range denied {
					p.failed(ws[i], errHeld, true)
				}
				late := p.join(r)
				for i, w := range ws {
					p.probes(w, errHeld)
					p.waits(ws[i+1:]...)
					p.waits(late)
					w.Leave()
				}
				p.asks(late, 0)
			})
		}
	}
}

// The messages that come while the watcher asks or probes are taken when it pauses. A probe may refute them before.
func TestAMessageBeforeThePauseIsTakenByThePause(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	w := p.join(mutex("x"))
	p.denied(w)
	p.subscriptions[0].message()
	p.asks(w, 0)
	p.subscriptions[0].message()
	p.failed(w, errHeld, true)
	p.probes(w, errHeld)
	w.Pause(0)
	p.tell(w, w.Next())
	p.asks(w, 0)
	assert.False(t, p.subscriptions[0].due)
}

// The caller that watches may be another one than that whose attempt failed last.
func TestTheAttemptThatFailedLastDecidesWhetherAMessageWakes(t *testing.T) {
	t.Parallel()
	for _, denied := range []bool{true, false} {
		p := newProcess(t)
		first, second := p.join(reader("x")), p.join(reader("x"))
		last := map[bool]error{true: errHeld, false: errLost}
		p.failed(first, last[!denied], !denied)
		p.failed(second, last[denied], denied)
		p.probes(first, last[denied])
		p.pause(first)
		p.subscriptions[0].message()
		if denied {
			p.asks(first, 0)
		} else {
			p.pauses(first)
		}
	}
}

// A caller of another owner asks without a turn.
func TestAnAttemptAsideDoesNotDecideWhetherAMessageWakes(t *testing.T) {
	t.Parallel()
	for _, denied := range []bool{true, false} {
		p := newProcess(t)
		watcher, other := p.join(reentrant("x", "a")), p.join(reentrant("x", "b"))
		p.failed(watcher, errHeld, denied)
		p.pause(watcher)
		p.failed(other, errLost, !denied)
		p.subscriptions[0].message()
		if denied {
			p.asks(watcher, 0)
		} else {
			p.pauses(watcher)
		}
	}
}

func TestAReleaseWakesTheCallerThatWasDenied(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.holders(permit("x", 4), 2)
	w := p.join(permit("x", 4))
	p.choose(w, nil)
	held[0].hold.Released(p.now, false)
	w.RefuseSlot()
	p.failed(w, errHeld, true)
	p.asks(w, 0) // its request may have reached the masters before the release
	p.refused(w)
	p.pause(w)
	held[1].hold.Published(5, p.now)
	held[1].hold.Released(p.now, false)
	p.pauses(w) // other processes wait, too, and there is no slot for each
	w.Leave()
}

// A release may have woken the caller that leaves, and no other.
func TestACallerThatLeavesMakesAnotherTryAgain(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{"it was woken": true, "it was not": false}, func(t *testing.T, woken bool) {
		p := newProcess(t)
		a, b, c := p.join(permit("x", 3)), p.join(permit("x", 3)), p.join(permit("x", 3))
		for _, w := range []*waitqueue.Waiter{a, b, c} {
			p.refused(w)
		}
		p.pause(a)
		if woken {
			p.subscriptions[0].message()
			p.asks(a, 0)
		}
		a.Leave()
		if woken {
			p.asks(b, 0)
			b.Leave()
			p.asks(c, 0)
		} else {
			p.probes(b, errHeld)
			p.waits(c)
		}
	})
}

// A caller that gets a permit may have used a release of another one up.
func TestACallerThatHasAPermitMakesAnotherTryAgain(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]func(p *process, held *lock, w *waitqueue.Waiter){
		"granted after a message": func(p *process, _ *lock, w *waitqueue.Waiter) {
			p.subscriptions[0].message()
			p.permit(w)
		},
		"granted after a release in this process": func(p *process, held *lock, w *waitqueue.Waiter) {
			held.hold.Released(p.now, false)
			p.permit(w)
		},
		"it inherits, and a message comes": func(p *process, held *lock, w *waitqueue.Waiter) {
			p.subscriptions[0].due = true
			require.True(p.t, held.passes(p.now))
			p.inherit(w, held)
		},
	}, func(t *testing.T, get func(p *process, held *lock, w *waitqueue.Waiter)) {
		p := newProcess(t)
		held := p.permit(p.join(permit("x", 4)))
		a, b := p.join(permit("x", 4)), p.join(permit("x", 4))
		p.refused(a)
		p.refused(b)
		p.pause(a)
		get(p, held, a)
		if do := p.next(b); do.Action == waitqueue.Probe { // then it finds out
			p.pause(b)
		}
		p.asks(b, 0)
	})
}

func TestACallerThatInheritsWithoutTheTurnWakesNone(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 2)))
	asks, waits := p.join(permit("x", 2)), p.join(permit("x", 2))
	p.choose(asks, nil)
	require.True(t, held.passes(p.now))
	p.inherit(waits, held)
	asks.RefuseSlot()
	p.failed(asks, errHeld, true)
	p.probes(asks, errHeld)
}

// An attempt that is granted at once is no news: the others ask already, or have not been denied.
func TestAFirstGrantWakesNone(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b := p.join(permit("x", 3)), p.join(permit("x", 3))
	p.permit(a)
	p.refused(b)
	p.probes(b, errHeld)
}

func TestAReaderThatGetsInLetsAllAsk(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{"the one that watched": false, "a TryLock": true}, func(t *testing.T, tries bool) {
		p := newProcess(t)
		watcher := p.join(reader("x"))
		p.denied(watcher)
		var ws []*waitqueue.Waiter
		for range 100 {
			ws = append(ws, p.join(reader("x")))
		}
		p.waits(ws...)
		got := watcher
		if tries {
			got = p.join(try(reader("x")))
		} else {
			p.subscriptions[0].message()
		}
		l := p.grant(got)
		for _, w := range ws {
			p.asks(w, 0)
		}
		if tries {
			p.asks(watcher, 0)
		}
		p.asks(p.join(reader("x")), 0)
		assert.Equal(t, waitqueue.ByMessage, l.hold.HandOver(l, p.now))
		l.hold.Released(p.now, false)
	})
}

// The release of one reader frees nothing: an exclusive waiter keeps the others out.
func TestAReleaseByAReaderWakesNone(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.grant(p.join(reader("x")))
	w := p.join(reader("x"))
	p.denied(w)
	held.hold.Released(p.now, false)
	p.pauses(w)
}

// The owner of a reentrant lock does not yield to others while it holds it.
func TestAReentrantLockYieldsOnce(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	l := p.grant(p.join(reentrant("x", "me")))
	l.hold.Released(p.now, false)
	l.hold.Published(1, p.now)
	first := p.join(reentrant("x", "me"))
	p.asks(first, 2*time.Millisecond)
	second := p.join(reentrant("x", "me"))
	p.asks(second, 2*time.Millisecond)
	tried := p.join(try(reentrant("x", "me")))
	p.asks(tried, 0)
	p.grant(tried)
	p.asks(second, 0)
	p.asks(p.join(reentrant("x", "me")), 0)
}

// A caller asks before it waits: its owner may hold the lock, here or elsewhere.
func TestOwnersOfAReentrantLock(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	you := p.join(reentrant("x", "you"))
	p.denied(you)
	me, me2, gone := p.join(reentrant("x", "me")), p.join(reentrant("x", "me")), p.join(reentrant("x", "me"))
	for _, w := range []*waitqueue.Waiter{me, me2, gone} {
		p.failed(w, errHeld, true)
	}
	p.waits(me, me2, gone)
	gone.Leave()
	first := p.join(reentrant("x", "me"))
	l0 := p.grant(first)
	p.asks(me, 0) // its owner holds the lock
	p.asks(me2, 0)
	p.pauses(you)

	l1 := p.grant(me)
	p.failed(me2, errHeld, true)
	p.asks(me2, 0) // it was to ask again, since its attempt may have begun before the grant
	l2 := p.grant(me2)
	require.ErrorContains(t, you.Reason(), "x reentrant")
	l0.hold.Released(p.now, false)
	l1.hold.Released(p.now, false)
	p.pauses(you)
	l2.hold.Released(p.now, false)
	p.asks(you, 0)
	p.failed(you, errHeld, true)
	p.probes(you, errHeld)

	later := p.join(reentrant("x", "me"))
	p.failed(later, errHeld, true)
	p.waits(later)
	you.OwnersHold([]string{"me", "unknown"})
	p.asks(later, 0)
	p.failed(later, errHeld, true)
	p.waits(later)
	you.Leave()
	p.probes(later, errHeld)
}

// Owners that ask at once do not take the turn from the callers that wait.
func TestOwnersThatAskAtOnceKeepNobodyWaiting(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.grant(p.join(reentrant("x", "me")))
	waits := p.join(reentrant("x", "you"))
	p.failed(waits, errHeld, true)
	p.waits(waits)
	asks := p.join(reentrant("x", "a third"))
	p.asks(asks, 0)
	held.hold.Released(p.now, false)
	p.asks(waits, 0)
	p.failed(asks, errHeld, true)
	p.waits(asks)
}

// An owner that holds the lock may watch: its caller then asks at once.
func TestTheWatcherAsksIfItsOwnerGetsTheLock(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]bool{"it pauses": true, "it probes": false}, func(t *testing.T, pauses bool) {
		p := newProcess(t)
		w := p.join(reentrant("x", "me"))
		p.failed(w, errHeld, true)
		if pauses {
			p.pause(w)
		}
		w.OwnersHold([]string{"me"})
		if !pauses {
			p.pause(w)
		}
		p.asks(w, 0)
	})
}
