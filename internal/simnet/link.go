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

// rto is the time after which a sender retransmits a lost segment. It doubles with each retransmission.
const rto = 200 * time.Millisecond

// rtoMax is the longest time between two retransmissions.
const rtoMax = 2 * time.Minute

// A Link is the path between a master and all hosts ([Master]) or one host ([Host.To]). A connection passes both in
// turn.
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

// pieces says how a segment is divided on a path that passes few bytes at a time.
type pieces struct {
	size int // bytes; 0: it is not cut
	gap  time.Duration
}

// change begins or ends a fault of the link.
func (l *Link) change(f func()) {
	l.net.change(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		f()
	})
}

// Delay makes every segment take d plus up to jitter in each direction. The segments of a connection stay in order.
func (l *Link) Delay(d, jitter time.Duration) {
	l.DelayWay(ToMaster, d, jitter)
	l.DelayWay(FromMaster, d, jitter)
}

// DelayWay is Delay in one direction.
func (l *Link) DelayWay(way Direction, d, jitter time.Duration) {
	l.change(func() { l.fixed[way], l.jitter[way] = d, jitter })
}

// Trickle passes at most so many bytes at a time in one direction, with a gap between two pieces.
func (l *Link) Trickle(way Direction, size int, gap time.Duration) {
	l.change(func() { l.pieces[way] = pieces{size, gap} })
}

// ResetAtWrite resets every connection at the first bytes that a client sends on it.
func (l *Link) ResetAtWrite() {
	l.change(func() { l.resets = true })
}

func (l *Link) resetting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.resets
}

// Loss loses the share p of all segments in each direction. A lost segment is retransmitted after 200 ms, 600 ms, 1.4 s
// and so on, and later segments of the connection wait for it. After the end of the loss, the next retransmission
// arrives.
func (l *Link) Loss(p float64) {
	l.change(func() { l.loss = p })
}

// BlackHole stops all traffic in both directions: bytes wait, and so do dials (see [Host.Dial]). After Heal the waiting
// bytes arrive.
func (l *Link) BlackHole() { l.Cut(ToMaster, FromMaster) }

// Cut stops all traffic in the given directions.
func (l *Link) Cut(ds ...Direction) {
	l.change(func() {
		for _, d := range ds {
			l.cuts[d] = true
		}
	})
}

// Proxy puts a TCP proxy into the path of all later connections, like Docker's at a published port. The proxy delivers
// what a client has written, whatever the client does with its connection meanwhile. Bytes that waited for the end of a
// cut arrive when TCP retransmits them: 200 ms, 600 ms, 1.4 s and so on after the first transmission.
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
	l.change(func() {
		l.fixed, l.jitter, l.pieces = [2]time.Duration{}, [2]time.Duration{}, [2]pieces{}
		l.loss, l.cuts, l.resets = 0, [2]bool{}, false
	})
}

func (l *Link) cut(d Direction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cuts[d]
}

// draw draws the delay of one segment.
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

func (l *Link) lossy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loss > 0
}

// dialed counts the connections from one host to one master.
func (l *Link) dialed() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.dials++
	return l.dials
}
