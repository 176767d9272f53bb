package broken

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

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
