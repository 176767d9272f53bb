package quorum

import (
	"sync/atomic"

	"github.com/redlock-go/redlock/node"
)

// trail is what a lease knows of one node.
type trail struct {
	place  place
	wrote  atomic.Bool // an operation that sets keys was written there, or may have been before
	asking uint16      // extensions that the node has not answered yet
}

// place is what is known of a node's keys.
type place uint8

const (
	asAcquired place = iota // nothing beyond the acquire's vote
	unsent                  // nothing of ours was written there
	absent                  // the node said that there is nothing of ours
	placed                  // the node said that there is
	doubtful                // it may be there, or come there yet
)

// extension notes what a vote, however late, says of the node's keys, and passes it on.
type extension struct {
	l     *Lease
	round node.Voter
}

func (e *extension) Vote(i int, v node.Vote) {
	e.l.mu.Lock()
	t := &e.l.trails[i]
	t.asking--
	switch {
	case v.Verdict == node.Granted || v.Healed:
		t.place = placed
	case v.Verdict == node.Denied:
		t.place = absent
	case v.Verdict == node.Unknown:
		t.place = doubtful
	}
	e.l.mu.Unlock()
	e.round.Vote(i, v)
}

// place says what is known of a node's keys now. An extension under way would put them back, however late it arrives.
func (l *Lease) place(i int) place {
	l.mu.Lock()
	asking, later, r := l.trails[i].asking, l.trails[i].place, l.acquire
	l.mu.Unlock()
	switch {
	case asking > 0:
		return doubtful
	case later != asAcquired:
		return later
	}
	return r.place(i)
}

// place says what an acquire's vote tells of a node's keys.
func (r *round) place(i int) place {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, voted := r.tally.votes[i], r.tally.voted[i]
	switch {
	case !voted && !r.wasAsked(i):
		return unsent
	case !voted || v.Verdict == node.Unknown:
		return doubtful
	case v.Verdict == node.Granted:
		return placed
	case v.Unsent:
		return unsent
	default:
		return absent
	}
}

// learn keeps of the acquire what its votes say, now that all are in: a lock may be held for long, and the round is large.
func (l *Lease) learn(r *round) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.trails {
		if l.trails[i].place == asAcquired {
			l.trails[i].place = r.place(i)
		}
	}
	l.acquire = nil
}
