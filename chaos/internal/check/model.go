package check

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// The model is a lock with fencing tokens as it would be if one name were kept in one place that never fails.
//
// An acquisition takes effect between its call and its return. The end of a hold takes effect after its belief ended
// and before its unlock was confirmed; without a confirmation it takes effect at any later time or never. An
// acquisition that failed or never returned may have taken effect and ended at any time. It forbids nothing, so it is
// not among the steps.

// state describes who holds the name and which tokens it has handed out.
type state struct {
	class int    // of its holders, or of its last holder
	count int    // of its holders
	own   uint64 // the token of the present or last owner, 0 for none yet
	// excluding is the largest token of exclusive holders, any the largest of all holders.
	excluding, any uint64
}

// Holders of one class may hold together. All readers are one class, each owner of a reentrant lock is one, the holders
// of a semaphore with one number of slots are one, and each other hold is one.
const (
	noClass = iota
	readers
	firstClass
)

type action string

const (
	acquires action = "acquires"
	regains  action = "regains" // believes again after an interruption: an extension came late
	finishes action = "ends"
)

// step is one operation on the model.
type step struct {
	action action
	who    string
	class  int
	slots  int // how many of the class may hold at once; 0: any number
	fence  uint64
}

func (s state) take(in step) (state, bool) {
	mine := s.class == in.class
	full := in.slots > 0 && s.count >= in.slots
	switch in.action {
	case acquires:
		if s.count > 0 && (!mine || full) {
			return s, false
		}
		if !mine {
			s.class, s.own = in.class, 0
		}
		s.count++
		return s.hand(in)
	case regains: // no other class had it since; a reader may regain among readers, a permit only a free slot
		if !mine && (in.class != readers || s.count > 0) || full {
			return s, false
		}
		s.class = in.class
		s.count++
	case finishes:
		if s.count == 0 || !mine {
			return s, false
		}
		s.count--
	}
	return s, true
}

// hand checks and records the token of an acquisition that has just taken effect.
func (s state) hand(in step) (state, bool) {
	switch {
	case in.fence == 0: // not fenced
		return s, true
	case in.slots > 0: // Fencing judges these: tokens need not follow the order in which slots were free
		s.excluding, s.any = max(s.excluding, in.fence), max(s.any, in.fence)
		return s, true
	case in.class == readers:
		s.any = max(s.any, in.fence)
		return s, in.fence >= s.excluding
	case in.fence == s.own: // the ownership continues, or the owner is back before every master has forgotten it
		return s, true
	case s.own != 0 && s.count > 1: // an inner hold: Fencing, which knows the faults, judges whether the token may differ
		s.excluding, s.any = max(s.excluding, in.fence), max(s.any, in.fence)
		return s, true
	case in.fence <= s.any:
		return s, false
	default:
		s.own, s.excluding, s.any = in.fence, in.fence, in.fence
		return s, true
	}
}

func (s state) String() string {
	who := "free"
	switch {
	case s.count > 0 && s.class == readers:
		who = fmt.Sprintf("%d readers", s.count)
	case s.count > 0:
		who = fmt.Sprintf("held, %d deep", s.count)
	}
	if s.any > 0 {
		who += fmt.Sprintf(", token %d", s.any)
	}
	return who
}

var model = porcupine.Model{
	Init: func() any { return state{} },
	Step: func(s, in, _ any) (bool, any) {
		next, ok := s.(state).take(in.(step))
		return ok, next
	},
	DescribeOperation: func(in, _ any) string {
		s := in.(step)
		text := s.who + " " + string(s.action)
		if s.fence > 0 && s.action == acquires {
			text += fmt.Sprintf(" (%d)", s.fence)
		}
		return text
	},
	DescribeState: func(s any) string { return s.(state).String() },
}

// never is the return time of an operation that may take effect at any time.
const never = time.Duration(math.MaxInt64)

// classes numbers the groups of holders.
type classes map[group]int

func (c classes) of(mode string, h *hold) int {
	g := groupOf(mode, h)
	if g.shared == kinds.Reader {
		return readers
	}
	if _, ok := c[g]; !ok {
		c[g] = firstClass + len(c)
	}
	return c[g]
}

// operations returns the steps of a hold. worker is the index of its worker, for the picture.
func (c classes) operations(h *hold, worker int) []porcupine.Operation {
	var ops []porcupine.Operation
	add := func(s step, from, to time.Duration) {
		s.who = who(h.who)
		ops = append(ops, porcupine.Operation{ClientId: worker, Input: s, Call: int64(from), Return: int64(to)})
	}
	mode := h.acquired.Mode
	class, slots := c.of(mode, h), groupOf(mode, h).slots
	add(step{action: acquires, class: class, slots: slots, fence: h.acquired.Fence}, h.asked.T, h.acquired.T)
	over := max(h.asked.T, h.acquired.Until) // a lock that was returned after its deadline ended there
	if len(h.beliefs) > 0 {
		over = h.beliefs[0].End
	}
	for i, b := range h.beliefs {
		if i > 0 && b.Begin > over {
			add(step{action: finishes, class: class}, over, b.Begin)
			add(step{action: regains, class: class, slots: slots}, over, b.Begin)
		}
		over = b.End
	}
	last := never
	if h.clean() && h.returned.T >= over {
		last = h.returned.T
	}
	add(step{action: finishes, class: class}, over, last)
	return ops
}
