package kind

import (
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// ProbeResult is what a probe found on all masters.
type ProbeResult struct {
	Free    int             // how many masters would grant
	Failed  int             // how many failed to answer
	Pending int             // how many have not answered yet
	Longest Blocker         // the blocker with the longest TTL
	TTLs    []time.Duration // of the blockers that have one

	blockers map[lock]int // on how many masters each lock blocks
}

// lock identifies a lock. All readers are one lock, and so are the permits of a semaphore and the holds of one owner.
type lock struct{ kind, token, owner string }

func (b Blocker) lock() lock {
	k := Named(b.Kind)
	switch {
	case k.Sharing == WithAll, k.Slotted():
		return lock{kind: b.Kind}
	case k.Nested() && OwnerOf(b.Token) != "":
		return lock{kind: b.Kind, owner: OwnerOf(b.Token)}
	default:
		return lock{kind: b.Kind, token: b.Token}
	}
}

// NewProbeResult returns the result of a probe.
func NewProbeResult(answers []quorum.Answer) (r ProbeResult) {
	for _, an := range answers {
		if an.Voted {
			r.add(an.Vote)
		} else {
			r.Pending++
		}
	}
	return r
}

func (r *ProbeResult) add(v wire.Vote) {
	b, denied := BlockerOf(v)
	switch {
	case v.Verdict == wire.Granted:
		r.Free++
	case v.Verdict == wire.Denied && denied:
		if b.TTL >= 0 {
			r.TTLs = append(r.TTLs, b.TTL)
		}
		if r.blockers == nil {
			r.blockers = make(map[lock]int)
		}
		r.blockers[b.lock()]++
		if b.TTL < 0 || (b.TTL >= r.Longest.TTL && r.Longest.TTL >= 0) {
			r.Longest = b
		}
	default:
		r.Failed++
	}
}

// MostMasters returns the largest number of masters on which one and the same lock blocks.
func (r *ProbeResult) MostMasters() (most int) {
	for _, n := range r.blockers {
		most = max(most, n)
	}
	return most
}

// Owners returns the owners that hold a nested lock on some master.
func (r *ProbeResult) Owners() (owners []string) {
	for b := range r.blockers {
		if b.owner != "" {
			owners = append(owners, b.owner)
		}
	}
	return owners
}
