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
// res records on which nodes; otherwise res is nil. If the waiter listens to releases, listener records on which nodes
// the lock is not free; otherwise it is nil.
func (q *Quorum) Probe(
	ctx context.Context, op *wire.Op, timeout time.Duration, early bool, res *Residue, listener *Listener,
) ([]Answer, error) {
	return q.read(ctx, &wire.Request{Op: op}, timeout,
		&reading{awaited: newAwaited(), early: early, res: res, listener: listener})
}

func (q *Quorum) read(
	ctx context.Context, req *wire.Request, timeout time.Duration, about *reading,
) ([]Answer, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if about.res != nil {
		about.res.begin(q.cfg.Clock.Now())
		req.Canceled = &about.res.canceled
	}
	if about.listener != nil {
		about.before = about.listener.lastMessage()
	}
	r := q.ask(req, timeout, about)
	if err := about.wait(ctx, q); err != nil {
		return nil, err
	}
	answers := make([]Answer, len(q.nodes))
	answered, free := false, false
	r.withTally(func(t *tally) {
		answered, free = t.answered(), t.state() == won
		for i := range answers {
			answers[i] = Answer{Node: q.nodes[i].Name(), Vote: t.votes[i].Vote, Voted: t.votes[i].cast}
		}
	})
	if free && about.listener != nil {
		about.listener.majorityFree(about.before)
	}
	if !answered {
		return answers, noQuorum(r.errors())
	}
	return answers, nil
}

// reading is the question of a Read or a Probe.
type reading struct {
	awaited
	early    bool
	res      *Residue
	listener *Listener
	before   uint64 // the last release message before the probe
}

func (a *reading) prepare(index int, c *wire.Call) *wire.Vote {
	if a.res != nil {
		a.res.submitted(index, c)
	}
	return nil
}

func (a *reading) adjust(index int, _ *wire.Call, v wire.Vote) wire.Vote {
	if a.res != nil {
		a.res.voted(index, v)
	}
	if a.listener != nil && v.Verdict != wire.Granted {
		a.listener.refute(index, a.before)
	}
	return v
}

func (a *reading) enough(t *tally) bool { return a.early && t.majorityAgrees() }
