package quorum

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/wire"
)

// Acquire asks every node for the lock. It returns the lease once a majority has granted it and, with fencing, agrees
// on a token. Some validity must be left then. Unless first is NoFirst, it asks the node with that index first, and the
// others only if that node does not deny. So contenders that ask the same node first do not split the vote. The
// attempts of one caller must pass the same failures. The lease keeps terms, which must not change.
//
// After a failure, the releases for every node that may have the keys have been submitted when Acquire returns. The
// error is a *DeniedError, a *PermanentError if retrying cannot succeed, ErrNoQuorum wrapped with a *NodeError for each
// node that failed, or with why the votes came too late, ErrClosing, or the context's error.
func (q *Quorum) Acquire(
	ctx context.Context, ops Ops, terms *Terms, first int, failures *PermanentFailures,
) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &Lease{q: q, ops: ops, terms: terms, states: make([]keyState, len(q.nodes))}
	h := &acquiring{awaited: newAwaited(), lease: l, failures: failures}
	r := q.newRound(&wire.Request{
		Connect: terms.connect(), Window: terms.Window, RequireTrusted: terms.Fencing, Canceled: &l.released,
	}, terms.Timeout, h)
	r.decider.first = int32(first)
	r.Op = ops.Acquire(terms, q.hint(r.Asked, terms)) // only now: newRound has set r.Asked
	l.begun = q.since(r.Asked)
	kept := false
	defer func() {
		if !kept { // also if the OnVote callback panics
			l.Release(false, nil)
		}
	}()
	r.start()

	if err := h.wait(ctx, q); err != nil {
		l.gaveUp = true
		return nil, err
	}
	if err := l.conclude(ctx, r, failures); err != nil {
		return nil, err
	}
	kept = true
	return l, nil
}

// acquiring is the handler of an acquire.
type acquiring struct {
	awaited
	lease    *Lease
	failures *PermanentFailures
}

func (h *acquiring) prepare(index int, c *wire.Call) *wire.Vote {
	h.lease.beginCall(index, c, (*keyState).askedToAcquire)
	return nil
}

func (h *acquiring) voted(index int, c *wire.Call, v wire.Vote) wire.Vote {
	return h.lease.recordVote(index, v, c.Asked, (*keyState).votedOnAcquire)
}

func (h *acquiring) counted(t *tally, index int, c *wire.Call, duplicates [][2]int) {
	h.failures.record(t, index)
	h.lease.reserve(t, index, c, duplicates)
}

func (h *acquiring) decides(t *tally) bool {
	if h.lease.terms.Fencing {
		return t.fenceConclusive()
	}
	return t.conclusive()
}

// hint returns asked as the wall clock shows it, for a lease with fencing. Other leases do not use it.
func (q *Quorum) hint(asked time.Time, terms *Terms) time.Time {
	if !terms.Fencing {
		return asked
	}
	return clock.Outside(q.cfg.Clock, asked)
}

// conclude makes the lease held if the decided round r has won it. Otherwise it returns why not: another holder,
// permanent failures, or too few answers.
func (l *Lease) conclude(ctx context.Context, r *round, failures *PermanentFailures) error {
	r.mu.Lock()
	t, byFirst := &r.decider.tally, r.decider.deniedByFirst()
	s, heldByOther, denial := t.state(), t.heldByOther(), t.denial()
	r.mu.Unlock()
	switch {
	case s == won:
		return l.becomeHeld(ctx, r)
	case heldByOther || byFirst:
		return &DeniedError{Wait: denial.Wait, By: denial.Data, ByFirst: byFirst, round: r}
	case failures.permanent(l.q.need):
		return &PermanentError{Err: noQuorum(r.errors())}
	default:
		return noQuorum(r.errors())
	}
}

// becomeHeld makes the lease held if time is left. With fencing, it first agrees on a token with a majority.
func (l *Lease) becomeHeld(ctx context.Context, r *round) error {
	if err := l.checkValidity(); err != nil {
		return err
	}
	if l.terms.Fencing {
		if err := l.settleFence(ctx, r); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = l.deadline(r.Asked)
	return nil
}
