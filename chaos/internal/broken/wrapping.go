package broken

import (
	"slices"
	"sync"
	"time"

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

// grantUnasked grants every lock in the name of the first master, which is not asked. So one vote fewer than a majority
// wins.
func grantUnasked(w *Wrapping) {
	w.grant = func(master int, c *wire.Call) bool {
		return master == 0 && slices.Contains([]string{"acquire", "raise", "extend", "release"}, c.Op.Name)
	}
}

// skipRaise does not write fencing tokens back, and says that the masters took them.
func skipRaise(w *Wrapping) {
	w.grant = func(_ int, c *wire.Call) bool { return c.Op.Name == "raise" }
}

// keepLeftovers does not send the releases of acquisitions that no majority has granted.
func keepLeftovers(w *Wrapping) {
	w.grant = func(_ int, c *wire.Call) bool { return c.Op.Name == "release" && w.requests.failed(c) }
}

// separateTwins gives one server another run id at each of its addresses.
func separateTwins(master int, _ *wire.Call, v *wire.Vote) {
	if v.Server != nil {
		server := *v.Server
		server.RunID += string(rune('a' + master))
		v.Server = &server
	}
}

// countHealed turns the vote of a master that got a missing key back into a grant.
func countHealed(_ int, _ *wire.Call, v *wire.Vote) {
	if v.Healed {
		v.Verdict = wire.Granted
	}
}

// extendAlways grants every extension, whatever the masters answer, and also if they do not.
func extendAlways(_ int, c *wire.Call, v *wire.Vote) {
	if c.Op.Name == "extend" {
		*v = wire.Vote{Verdict: wire.Granted, Server: v.Server}
	}
}

// requests are the acquisitions and extensions of one Locker, as its nodes see them.
type requests struct {
	need int // a majority of the masters

	mu       sync.Mutex
	byOp     map[*wire.Op]*request // all masters share the Op of one request
	acquired map[attempt]bool      // whether a majority has granted an acquisition
	last     map[string]*request   // by lock: the last request that a majority has granted
	fresh    map[string]bool       // by lock: a majority has granted an acquisition that has no handle yet
}

// attempt identifies an acquisition. Only readers of one name may begin two in the same instant.
type attempt struct {
	lock  string
	asked time.Time
}

// request is one acquisition or extension.
type request struct {
	op     *wire.Op
	asked  time.Time // on the Locker's clock
	begin  time.Time // on the machine's
	grants int
	took   time.Duration // until a majority granted it
}

// sent records a call of a request, and returns the request; nil if it is none.
func (r *requests) sent(c *wire.Call) *request {
	if c.Op.Name != "acquire" && c.Op.Name != "extend" {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	one := r.byOp[c.Op]
	if one == nil {
		if r.byOp == nil {
			r.byOp, r.acquired = make(map[*wire.Op]*request), make(map[attempt]bool)
			r.last, r.fresh = make(map[string]*request), make(map[string]bool)
		}
		one = &request{op: c.Op, asked: c.Asked, begin: time.Now()}
		r.byOp[c.Op] = one
	}
	return one
}

// voted records a vote on a request.
func (r *requests) voted(one *request, v wire.Vote) {
	if one == nil || v.Verdict != wire.Granted {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	one.grants++
	if one.grants != r.need {
		return
	}
	one.took = time.Since(one.begin)
	r.last[one.op.Lock] = one
	if one.op.Name == "acquire" {
		r.acquired[attempt{one.op.Lock, one.asked}] = true
		r.fresh[one.op.Lock] = true
	}
}

// failed reports whether a release is that of an acquisition that no majority has granted.
func (r *requests) failed(release *wire.Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !release.FirstAsked.IsZero() && !r.acquired[attempt{release.Op.Lock, release.FirstAsked}]
}

// took returns how long the last request for a lock took until a majority granted it.
func (r *requests) took(lock string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.last[lock]; one != nil {
		return one.took
	}
	return 0
}

// handedOver reports whether the masters have granted no acquisition since the last handle on the lock.
func (r *requests) handedOver(lock string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	fresh := r.fresh[lock]
	delete(r.fresh, lock)
	return !fresh
}
