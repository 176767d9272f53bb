package simnet

import (
	"cmp"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// half is one direction of a connection: the segments that are on their way from a sender to a receiver, in order.
type half struct {
	limit   int         // most bytes not yet read; 0: any number
	draw    func() trip // says what a segment takes; called under mu
	cut     func() bool // nothing arrives while true
	reading func() bool // the receiver runs; while false it reads nothing and notices no deadline
	writing func() bool // the sender runs; while false, what it writes is not sent

	mu     sync.Mutex
	cond   *sync.Cond
	segs   []segment
	size   int
	last   time.Time // when the last segment arrives
	ended  bool      // the sender is done; nothing more is taken in
	sink   bool      // what is sent vanishes
	dead   error     // the receiver is done; what is queued is of no use
	broken error     // what a sender gets
	readBy time.Time // deadlines; zero: none
	sendBy time.Time
}

// segment is what one write sent, or, with err, the end of the stream.
type segment struct {
	first time.Time // when it leaves for the first time
	sent  time.Time // when it leaves for the last time; the times before it gets lost
	alone time.Time // when it would arrive if it did not wait for earlier segments
	at    time.Time // when it arrives, unless the path is cut then
	here  bool      // it had arrived before the path was cut
	held  bool      // its sender did not run
	data  []byte
	err   error
}

func newHalf(limit int, draw func() trip, cut, reading, writing func() bool) *half {
	h := &half{limit: limit, draw: draw, cut: cut, reading: reading, writing: writing}
	h.cond = sync.NewCond(&h.mu)
	return h
}

func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		if h.dead != nil {
			return 0, h.dead
		}
		if !h.reading() {
			h.cond.Wait()
			continue
		}
		if due(h.readBy) {
			return 0, os.ErrDeadlineExceeded
		}
		next := h.readBy
		if len(h.segs) > 0 {
			s := &h.segs[0]
			if h.arrived(s) {
				return h.take(p)
			}
			if !h.blocked(s) && (next.IsZero() || s.at.Before(next)) {
				next = s.at
			}
		}
		h.wait(next)
	}
}

// readable reports whether bytes or the end have arrived.
func (h *half) readable() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead != nil || len(h.segs) > 0 && h.arrived(&h.segs[0])
}

func (h *half) arrived(s *segment) bool { return s.here || due(s.at) && !h.blocked(s) }

func (h *half) blocked(s *segment) bool { return h.cut() || s.held && !h.writing() }

// take returns bytes of the first segment, which has arrived.
func (h *half) take(p []byte) (int, error) {
	s := &h.segs[0]
	if s.err != nil {
		return 0, s.err // the error is permanent
	}
	s.here = true
	n := copy(p, s.data)
	s.data = s.data[n:]
	if len(s.data) == 0 {
		h.segs[0] = segment{}
		h.segs = h.segs[1:]
	}
	h.size -= n
	h.cond.Broadcast()
	return n, nil
}

// trip is the delay of a segment: the time until its last transmission, and the time on the way. It also says how the
// segment is divided.
type trip struct {
	lost, way time.Duration
	pieces    pieces
}

func (t trip) plus(u trip) trip {
	t.lost, t.way = t.lost+u.lost, t.way+u.way
	if t.pieces.size == 0 {
		t.pieces = u.pieces
	}
	return t
}

// write sends p.
func (h *half) write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sent := 0
	for {
		switch {
		case h.broken != nil:
			return sent, h.broken
		case h.ended:
			return sent, net.ErrClosed
		case due(h.sendBy):
			return sent, os.ErrDeadlineExceeded
		case h.sink:
			return len(p), nil
		}
		n := len(p) - sent
		if h.limit > 0 {
			n = min(n, h.limit-h.size)
		}
		if n > 0 {
			h.send(p[sent:sent+n], h.draw())
			sent += n
		}
		if sent == len(p) {
			return sent, nil
		}
		h.wait(h.sendBy)
	}
}

// send queues p, in one segment or in pieces. The caller holds mu.
func (h *half) send(p []byte, t trip) {
	for size := t.pieces.size; size > 0 && len(p) > size; p = p[size:] {
		h.push(segment{data: append([]byte(nil), p[:size]...)}, t)
		t.way = time.Until(h.last) - t.lost + t.pieces.gap
	}
	h.push(segment{data: append([]byte(nil), p...)}, t)
}

// push appends s to the segments on their way. The caller holds mu.
func (h *half) push(s segment, t trip) {
	s.first = time.Now()
	s.sent = s.first.Add(t.lost)
	s.alone = s.sent.Add(t.way)
	s.held = !h.writing()
	s.at = later(s.alone, h.last)
	h.last = s.at
	h.size += len(s.data)
	h.segs = append(h.segs, s)
	h.cond.Broadcast()
}

// end lets the receiver read what was sent, and from then on err. The end itself does not get lost.
func (h *half) end(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	h.ended = true
	h.push(segment{err: err}, trip{way: h.draw().way})
}

// lose drops the segments that have not arrived.
func (h *half) lose() { h.drop(func(*segment) bool { return true }) }

// discard drops the segments that the sender's kernel has not sent or must retransmit.
func (h *half) discard() {
	cut, now := h.cut(), time.Now()
	h.drop(func(s *segment) bool { return cut || s.held || s.sent.After(now) })
}

// drop drops the first segment that has not arrived and for which goes is true, and all later ones, which cannot be
// read without it. The end of the stream stays.
func (h *half) drop(goes func(*segment) bool) {
	h.settle()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = time.Time{}
	for i := range h.segs {
		s := &h.segs[i]
		if s.err == nil && !s.here && goes(s) {
			gone := h.segs[i:]
			h.segs = h.segs[:i]
			if end := gone[len(gone)-1]; end.err != nil {
				h.push(segment{err: end.err}, trip{})
			}
			return
		}
		h.last = s.at
	}
}

// closeAfterData ends the half of a killed sender: the receiver gets what the sender has written, and then the end.
// What was written while the sender did not run is lost.
func (h *half) closeAfterData() {
	h.drop(func(s *segment) bool { return s.held })
	h.end(io.EOF)
	h.sendNothing()
}

// sendNothing drops everything that is sent from now on.
func (h *half) sendNothing() { h.change(func() { h.sink = true }) }

// breakSender lets every write fail with err from now on.
func (h *half) breakSender(err error) {
	h.change(func() { h.broken = cmp.Or(h.broken, err) })
}

// kill ends the half for both sides at once. The receiver gets the error dead, the sender broken.
func (h *half) kill(dead, broken error) {
	h.change(func() {
		h.dead, h.broken = cmp.Or(h.dead, dead), cmp.Or(h.broken, broken)
		h.segs, h.size = nil, 0
	})
}

// settle marks the segments that have arrived.
func (h *half) settle() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := 0; i < len(h.segs) && h.arrived(&h.segs[i]); i++ {
		h.segs[i].here = true
	}
}

// repeat is called at the end of a cut. It delays the segments that waited for it until TCP retransmits them.
func (h *half) repeat() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	var begins time.Time // what waited arrives from then on, in order
	for i := range h.segs {
		s := &h.segs[i]
		if s.here {
			continue
		}
		if begins.IsZero() {
			way := s.at.Sub(s.sent)
			s.sent = nextTransmission(s.first, now)
			begins = s.sent.Add(way)
		}
		s.at = later(s.at, begins)
	}
	h.last = later(h.last, begins)
}

// mend is called when the path no longer loses segments: the next transmission of each arrives.
func (h *half) mend() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.last = time.Time{}
	for i := range h.segs {
		s := &h.segs[i]
		if next := nextTransmission(s.first, now); !s.here && next.Before(s.sent) {
			s.sent, s.alone = next, s.alone.Add(next.Sub(s.sent))
		}
		if !s.here {
			s.at = later(s.alone, h.last)
		}
		h.last = s.at
	}
	h.cond.Broadcast()
}

// nextTransmission returns when TCP transmits a segment next, that it transmitted first at first.
func nextTransmission(first, now time.Time) time.Time {
	for wait := rto; !first.After(now); wait = min(2*wait, rtoMax) {
		first = first.Add(wait)
	}
	return first
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

func (h *half) isDead() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.dead != nil
}

// change calls f and wakes who waits.
func (h *half) change(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.cond.Broadcast()
}

func (h *half) wake() { h.change(func() {}) }

// wait waits for a broadcast, or until t unless it is zero. The caller holds mu.
func (h *half) wait(t time.Time) {
	if !t.IsZero() {
		timer := time.AfterFunc(time.Until(t), h.wake)
		defer timer.Stop()
	}
	h.cond.Wait()
}

// due reports whether t, unless zero, has come.
func due(t time.Time) bool { return !t.IsZero() && !time.Now().Before(t) }
