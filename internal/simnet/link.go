package simnet

import (
	"math/rand/v2"
	"sync"
	"time"
)

// A Direction is one way along a path.
type Direction int

// The two ways along a path.
const (
	ToMaster Direction = iota
	FromMaster
)

// rto is how long a sender waits before it sends a lost segment for the second time; twice as long before the third.
const rto = 200 * time.Millisecond

// rtoMax is the longest it waits.
const rtoMax = 2 * time.Minute

// A Link is the path between hosts and a master: all hosts ([Master]), or one ([Host.To]). Both apply, one behind the
// other.
type Link struct {
	net *Net

	mu     sync.Mutex
	fixed  [2]time.Duration
	jitter [2]time.Duration
	pieces [2]pieces
	loss   float64
	cuts   [2]bool
	resets bool
	proxy  bool
	dials  int
}

// pieces are what a segment is cut into on a path that passes on little at a time.
type pieces struct {
	size int // bytes; 0: it is not cut
	gap  time.Duration
}

// Delay makes every segment take d, and up to jitter more, each way: a round trip takes twice as long. A connection's
// segments stay in order.
func (l *Link) Delay(d, jitter time.Duration) {
	l.DelayWay(ToMaster, d, jitter)
	l.DelayWay(FromMaster, d, jitter)
}

// DelayWay is Delay in one direction.
func (l *Link) DelayWay(way Direction, d, jitter time.Duration) {
	l.net.change(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.fixed[way], l.jitter[way] = d, jitter
	})
}

// Trickle passes on no more than so many bytes at a time in one direction, each gap after the one before.
func (l *Link) Trickle(way Direction, size int, gap time.Duration) {
	l.net.change(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.pieces[way] = pieces{size, gap}
	})
}

// ResetAtWrite resets every connection at the first bytes that a client sends on it.
func (l *Link) ResetAtWrite() {
	l.net.change(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.resets = true
	})
}

func (l *Link) resetting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resets
}

// Loss makes the share p of all segments get lost, each way. A lost segment is sent again after 200 ms, 600 ms, 1.4 s
// and so on, and the connection waits for it.
func (l *Link) Loss(p float64) {
	l.net.change(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.loss = p
	})
}

// BlackHole stops everything in both directions: bytes wait, and a dial waits until its context ends. Heal ends it, and
// what waited arrives.
func (l *Link) BlackHole() { l.Cut(ToMaster, FromMaster) }

// Cut stops everything in the given directions.
func (l *Link) Cut(ds ...Direction) {
	l.net.change(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		for _, d := range ds {
			l.cuts[d] = true
		}
	})
}

// Proxy puts a TCP proxy into the path, as Docker's at a published port, for all connections from now on. What a client
// has written is the proxy's to deliver, whatever the client does with its connection meanwhile. And what waited for
// the end of a cut does not arrive at once but when TCP sends it again: 200 ms, 600 ms, 1.4 s and so on after the first time.
func (l *Link) Proxy() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proxy = true
}

func (l *Link) proxied() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.proxy
}

// Heal ends delay, trickling, loss, cuts and resets.
func (l *Link) Heal() {
	l.net.change(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.fixed, l.jitter, l.pieces = [2]time.Duration{}, [2]time.Duration{}, [2]pieces{}
		l.loss, l.cuts, l.resets = 0, [2]bool{}, false
	})
}

func (l *Link) cut(d Direction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cuts[d]
}

// draw says what one segment takes.
func (l *Link) draw(r *rand.Rand, way Direction) trip {
	l.mu.Lock()
	fixed, jitter, loss, pieces := l.fixed[way], l.jitter[way], l.loss, l.pieces[way]
	l.mu.Unlock()
	t := trip{way: fixed, pieces: pieces}
	if jitter > 0 {
		t.way += time.Duration(r.Int64N(int64(jitter)))
	}
	for wait := rto; loss > 0 && r.Float64() < loss && wait < 16*time.Second; wait *= 2 {
		t.lost += wait
	}
	return t
}

// dialled counts the connections of one host to one master.
func (l *Link) dialled() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dials++
	return l.dials
}
