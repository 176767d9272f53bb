package quorum

import "github.com/redlock-go/redlock/internal/wire"

// Extend asks every node for a further TTL. It calls done once, from any goroutine and perhaps before it returns, with:
//
//   - nil: a majority granted. Until is at least a validity after the request. It never moves back.
//   - ErrGone: a majority no longer has the token. The lease is lost, and no later extension moves Until.
//   - ErrNoQuorum, wrapped with the errors of the nodes: the lease continues as before.
//   - ErrEnded: the lease was released or lost meanwhile, or its deadline has passed.
//
// A node that lost the key restores it, but its vote counts only from the next extension on: another client may have
// held the lock there in the meantime. The grant of a server within its restart window counts only while the node is
// reserved for the lease (see keyState). Otherwise the key may be on a node that granted the lock to another client
// before it restarted. A server that does not identify itself never counts.
func (l *Lease) Extend(done func(error)) {
	if l.ended() {
		done(ErrEnded)
		return
	}
	l.mu.Lock()
	op := l.ops.Extend(l.terms, l.fence)
	l.mu.Unlock()
	// A node drops an extension that it has not written when the lease ends: otherwise the extension could restore the
	// keys, and an old fencing token, after other holders.
	req := l.terms.request(op)
	req.Canceled, req.Ended = &l.released, l.ended
	l.q.ask(req, l.terms.Timeout, &extending{lease: l, done: done})
}

// extending is the handler of an extension.
type extending struct {
	byMajority
	lease *Lease
	done  func(error)
}

func (h *extending) prepare(index int, c *wire.Call) *wire.Vote {
	h.lease.beginCall(index, c, (*keyState).askedToExtend)
	return nil
}

func (h *extending) voted(index int, c *wire.Call, v wire.Vote) wire.Vote {
	return h.lease.recordVote(index, v, c.Asked, (*keyState).votedOnExtend)
}

func (h *extending) counted(t *tally, index int, c *wire.Call, duplicates [][2]int) {
	h.lease.reserve(t, index, c, duplicates)
}

func (h *extending) finish(r *round) { h.done(h.lease.extended(r)) }

// extended returns the result of a decided extension, and moves Until if a majority granted it.
func (l *Lease) extended(r *round) error {
	var s state
	var gone bool
	r.withTally(func(t *tally) { s, gone = t.state(), t.majorityDenied() })
	switch {
	case s == won:
		return l.prolong(r)
	case gone:
		l.mu.Lock()
		l.gone = true
		l.mu.Unlock()
		return ErrGone
	case l.ended(): // the nodes have dropped the extension
		return ErrEnded
	default:
		return noQuorum(r.errors())
	}
}

// prolong moves Until to the end of the new TTL, unless the lease has ended.
func (l *Lease) prolong(r *round) error {
	now := l.q.cfg.Clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	// A majority may grant after ErrGone: the extension that was denied restored the keys.
	if l.released.Load() || l.gone || l.frozen || !now.Before(l.until) {
		return ErrEnded // another holder may have had the lock since
	}
	if until := l.deadline(r.Asked); until.After(l.until) {
		l.until = until
	}
	return nil
}
