package quorum

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// Answer is one node's answer to a Read or a Probe.
type Answer struct {
	Node string
	Vote wire.Vote
	// Voted reports whether the node has voted. The vote may be that it failed.
	Voted bool
}

// Read sends op, which changes nothing, to every node. It returns the answers by node when all nodes have voted, at the
// latest after timeout, or after connectTime more where a node had to connect. If fewer than a majority answered, it
// returns the answers that arrived, and an error that wraps ErrNoQuorum. Other errors are ErrClosing and the context's.
func (q *Quorum) Read(ctx context.Context, op *wire.Op, timeout time.Duration) ([]Answer, error) {
	return q.read(ctx, &wire.Request{Op: op, Connect: connectTime(timeout)}, timeout,
		&reading{awaited: newAwaited()})
}

// Probe is [Quorum.Read] for a waiter. It gives a node no extra time to connect, because the waiter has asked the nodes
// before. With early, it returns as soon as a majority has granted or a majority has denied. If op may leave an intent,
// residue records on which nodes; otherwise it is nil. If the waiter listens to releases, listener records on which
// nodes the lock is not free; otherwise it is nil.
func (q *Quorum) Probe(
	ctx context.Context, op *wire.Op, timeout time.Duration, early bool, residue *Residue, listener *Listener,
) ([]Answer, error) {
	return q.read(ctx, &wire.Request{Op: op}, timeout,
		&reading{awaited: newAwaited(), early: early, residue: residue, listener: listener})
}

func (q *Quorum) read(
	ctx context.Context, req *wire.Request, timeout time.Duration, h *reading,
) ([]Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.begin(q.cfg.Clock.Now(), req)
	r := q.ask(req, timeout, h)
	if err := h.wait(ctx, q); err != nil {
		return nil, err
	}
	answers := make([]Answer, len(q.nodes))
	answered, free := false, false
	r.withTally(func(t *tally) {
		answered, free = t.answered(), t.state() == won
		for i := range answers {
			answers[i] = Answer{Node: q.nodes[i].Name(), Vote: t.votes[i], Voted: t.hasVoted(i)}
		}
	})
	if free && h.listener != nil {
		h.listener.majorityFree(h.lastMessage)
	}
	if !answered {
		return answers, noQuorum(r.errors())
	}
	return answers, nil
}

// reading is the handler of a Read or a Probe.
type reading struct {
	awaited
	early    bool
	residue  *Residue
	listener *Listener

	lastMessage uint64 // of a release, before the probe
}

// begin prepares the Residue and the Listener, if there are, for a request that is sent now.
func (h *reading) begin(now time.Time, req *wire.Request) {
	if h.residue != nil {
		h.residue.begin(now)
		req.Canceled = &h.residue.canceled
	}
	if h.listener != nil {
		h.lastMessage = h.listener.lastMessage()
	}
}

func (h *reading) prepare(index int, c *wire.Call) *wire.Vote {
	if h.residue != nil {
		h.residue.submitted(index, c)
	}
	return nil
}

func (h *reading) voted(index int, _ *wire.Call, v wire.Vote) wire.Vote {
	if h.residue != nil {
		h.residue.voted(index, v)
	}
	if h.listener != nil && v.Verdict != wire.Granted {
		h.listener.discount(index, h.lastMessage)
	}
	return v
}

func (h *reading) decides(t *tally) bool { return h.early && t.majorityAgrees() }
