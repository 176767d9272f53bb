package waitqueue_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

func reader(name string) waitqueue.Request {
	r := writer(name)
	r.Kind, r.Width = "reader", waitqueue.Unbounded
	return r
}

// Callers that are denied together give their turns back, and one of them watches: the first in the order of the calls.
// The order in which they are denied does not matter.
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
					p.asks(ws[len(ws)-1], 0)
				}
				for _, i := range denied {
					p.failed(ws[i], errHeld, true)
				}
				late := p.join(r)
				p.watches(ws[0], errHeld)
				p.waits(ws[1], ws[2], ws[3], late)
				for i, w := range ws[:3] {
					w.Leave()
					p.asks(ws[i+1], 0)
					p.waits(late)
				}
				p.failed(ws[3], errHeld, true)
				p.watches(ws[3], errHeld)
				ws[3].Leave()
				p.asks(late, 0)
			})
		}
	}
}

// While one caller still asks, no other watches: its answer tells.
func TestNobodyWatchesWhileAnotherAsks(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	a, b, c := p.join(reader("x")), p.join(reader("x")), p.join(reader("x"))
	p.failed(a, errHeld, true)
	p.failed(c, errHeld, true)
	p.waits(a, c)
	p.turn(b)
	p.grant(b)
	p.asks(a, 0)
	p.asks(c, 0)
	p.failed(c, errHeld, true)
	p.failed(a, errLost, false)
	p.watches(a, errLost)
	p.waits(c)
}

// A release while the last caller asks may come after its request: the first caller asks again at once.
func TestAReleaseWhileTheLastCallerAsksIsNotMissed(t *testing.T) {
	t.Parallel()
	p := newProcess(t)
	held := p.permit(p.join(permit("x", 3)))
	a, b := p.join(permit("x", 3)), p.join(permit("x", 3))
	for _, w := range []*waitqueue.Waiter{a, b} {
		p.turn(w)
		w.ChooseSlot(nil)
	}
	held.hold.Released(p.now, false) // nudges a
	a.RefuseSlot()
	p.failed(a, errHeld, true)
	require.Len(t, b.Nudges(), 1, "a was nudged, and asks no more")
	b.RefuseSlot()
	p.failed(b, errHeld, true)
	p.asks(a, 0)
	assert.Empty(t, a.Nudges())
	assert.Empty(t, b.Nudges())
}

func TestAReaderThatGetsInLetsAllAsk(t *testing.T) {
	t.Parallel()
	for name, tries := range map[string]bool{"the one that watched": false, "a TryLock": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProcess(t)
			watcher := p.join(reader("x"))
			p.turn(watcher)
			p.failed(watcher, errHeld, true)
			p.watches(watcher, errHeld)
			var ws []*waitqueue.Waiter
			for range 100 {
				ws = append(ws, p.join(reader("x")))
			}
			p.waits(ws...)
			got := watcher
			if tries {
				r := reader("x")
				r.Try = true
				got = p.join(r)
				p.asks(got, 0)
			}
			l := p.grant(got)
			for _, w := range ws {
				p.asks(w, 0)
			}
			if tries {
				assert.Len(t, watcher.Nudges(), 1)
			}
			p.asks(p.join(reader("x")), 0)
			assert.False(t, l.hold.PassLease(l, p.now))
			assert.False(t, l.hold.KeepSilent(l, p.now))
			l.hold.Released(p.now, false)
		})
	}
}
