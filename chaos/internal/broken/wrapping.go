package broken

import (
	"slices"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// Wrapping is what breaks one Locker.
type Wrapping struct {
	// Options open the Locker, together with any others.
	Options []redlock.Option
	// Ask, if set, changes what the Locker is asked for.
	Ask func(*kinds.Request)
	// Hold, if set, wraps the handle of a lock that the Locker has acquired.
	Hold func(*redlock.Locker, *redlock.Lock) kinds.Lock

	requests requests
	// grant, if set, reports whether a call is granted in place of the master, which then does not get it.
	grant func(master int, c *wire.Call) bool
	// vote, if set, changes the master's vote.
	vote func(master int, c *wire.Call, v *wire.Vote)
}

// Wrap returns what breaks one Locker. Each Locker needs its own.
func (l Lock) Wrap() *Wrapping {
	w := &Wrapping{Options: l.options}
	if l.wrap != nil {
		l.wrap(w)
		w.Options = append(slices.Clone(w.Options), Hooks(seam.Hooks{Nodes: w.nodes}))
	}
	return w
}

// nodes wraps the nodes of the Locker.
func (w *Wrapping) nodes(inner []quorum.Node) []quorum.Node {
	w.requests.need = len(inner)/2 + 1
	outer := make([]quorum.Node, len(inner))
	for i, n := range inner {
		outer[i] = &master{Node: n, index: i, w: w}
	}
	return outer
}

// master is a node that calls the functions of a Wrapping.
type master struct {
	quorum.Node
	index int
	w     *Wrapping
}

func (m *master) Submit(c *wire.Call) {
	if m.w.grant != nil && m.w.grant(m.index, c) {
		c.Voter.Vote(int(c.Index), wire.Vote{Verdict: wire.Granted})
		return
	}
	own := *c.Request // the other nodes share it
	own.Voter = &voter{Voter: c.Voter, call: c, master: m, request: m.w.requests.sent(c)}
	c.Request = &own
	m.Node.Submit(c)
}

// voter passes a vote on, changed.
type voter struct {
	wire.Voter
	call    *wire.Call
	master  *master
	request *request
}

func (v *voter) Vote(seat int, vote wire.Vote) {
	w := v.master.w
	if w.vote != nil {
		w.vote(v.master.index, v.call, &vote)
	}
	w.requests.voted(v.request, vote)
	v.Voter.Vote(seat, vote)
}
