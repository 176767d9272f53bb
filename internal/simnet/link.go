package simnet

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// A Direction is one way along a path.
type Direction int

// The two ways along a path.
const (
	ToMaster Direction = iota
	FromMaster
)

// rto is the time after which a sender retransmits a lost segment. It doubles with each retransmission.
const rto = 200 * time.Millisecond

// rtoMax is the longest time between two retransmissions.
const rtoMax = 2 * time.Minute

// A Link is the path between a master and all hosts ([Master]) or one host ([Host.To]). A connection passes both in
// turn.
type Link struct {
	net *Net

	mu     sync.Mutex
	faults faults

	proxy atomic.Bool
	dials atomic.Int64 // of the host; in the Link of a master, those of all hosts, without Connect
}

// faults are what [Link.Heal] ends. Arrays have an element for each [Direction].
type faults struct {
	fixed  [2]time.Duration
	jitter [2]time.Duration
	pieces [2]pieces
	loss   float64
	cuts   [2]bool
	resets bool
}

// A path is the links that a connection passes.
type path [2]*Link

func (p path) has(fault func(faults) bool) bool { return fault(p[0].now()) || fault(p[1].now()) }

func (p path) cut(d Direction) bool { return p.has(func(f faults) bool { return f.cuts[d] }) }

func (p path) lossy() bool { return p.has(func(f faults) bool { return f.loss > 0 }) }

func (p path) resets() bool { return p.has(func(f faults) bool { return f.resets }) }

// draw draws the delay of one segment.
func (p path) draw(r *rand.Rand, way Direction) trip {
	return p[0].now().draw(r, way).plus(p[1].now().draw(r, way))
}

// pieces says how a segment is divided on a path that passes few bytes at a time.
type pieces struct {
	size int // bytes; 0: it is not cut
	gap  time.Duration
}

// change begins or ends a fault of the link.
func (l *Link) change(f func(*faults)) {
	l.net.change(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		f(&l.faults)
	})
}

func (l *Link) now() faults {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.faults
}

// Delay makes every segment take d plus up to jitter in each direction. The segments of a connection stay in order.
func (l *Link) Delay(d, jitter time.Duration) {
	l.DelayWay(ToMaster, d, jitter)
	l.DelayWay(FromMaster, d, jitter)
}

// DelayWay is Delay in one direction.
func (l *Link) DelayWay(way Direction, d, jitter time.Duration) {
	l.change(func(f *faults) { f.fixed[way], f.jitter[way] = d, jitter })
}

// Trickle passes at most so many bytes at a time in one direction, with a gap between two pieces.
func (l *Link) Trickle(way Direction, size int, gap time.Duration) {
	l.change(func(f *faults) { f.pieces[way] = pieces{size, gap} })
}

// ResetAtWrite resets every connection at the first bytes that a client sends on it.
func (l *Link) ResetAtWrite() { l.change(func(f *faults) { f.resets = true }) }

// Loss loses the share p of all segments in each direction. A lost segment is retransmitted after 200 ms, 600 ms, 1.4 s
// and so on, and later segments of the connection wait for it. After the end of the loss, the next retransmission
// arrives.
func (l *Link) Loss(p float64) { l.change(func(f *faults) { f.loss = p }) }

// BlackHole stops all traffic in both directions: bytes wait, and so do dials (see [Host.Dial]). After Heal the waiting
// bytes arrive.
func (l *Link) BlackHole() { l.Cut(ToMaster, FromMaster) }

// Cut stops all traffic in the given directions.
func (l *Link) Cut(ds ...Direction) {
	l.change(func(f *faults) {
		for _, d := range ds {
			f.cuts[d] = true
		}
	})
}

// Proxy puts a TCP proxy into the path of all later connections, like Docker's at a published port. The proxy delivers
// what a client has written, whatever the client does with its connection meanwhile. Bytes that waited for the end of a
// cut arrive when TCP retransmits them: 200 ms, 600 ms, 1.4 s and so on after the first transmission.
func (l *Link) Proxy() { l.proxy.Store(true) }

// Heal ends delay, trickling, loss, cuts and resets.
func (l *Link) Heal() { l.change(func(f *faults) { *f = faults{} }) }

// draw draws what the link adds to the delay of one segment.
func (f faults) draw(r *rand.Rand, way Direction) trip {
	t := trip{way: f.fixed[way], pieces: f.pieces[way]}
	if jitter := f.jitter[way]; jitter > 0 {
		t.way += time.Duration(r.Int64N(int64(jitter)))
	}
	for wait := rto; f.loss > 0 && r.Float64() < f.loss && wait < 16*time.Second; wait *= 2 {
		t.lost += wait
	}
	return t
}
