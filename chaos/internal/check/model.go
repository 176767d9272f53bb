package check

import (
	"fmt"
	"math"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// The model of a lock with fencing tokens: what one name would do if it were kept in one place that never fails.
//
// An acquisition takes effect between its question and its answer. The end of a hold takes effect at some time after its
// belief ended, at the latest when its unlock was confirmed; if it never was, at any time or never. A downgrade takes
// effect at some time after the call, or never. An acquisition that came to nothing, or never returned, may have taken
// effect and have ended at any time: nobody has seen it, so it forbids nothing, and is not among the steps.

// state is who holds the name, and what tokens it has seen.
type state struct {
	class int    // of those who hold it, or held it last
	count int    // how many hold it
	own   uint64 // the token of the present or last owner, 0 for none yet
	// excluding is the largest token of those that exclude, any of all.
	excluding, any uint64
}

// The classes that share: readers are one class. Each owner of a reentrant lock is one, each other hold is one.
const (
	nobody = iota
	readers
	firstClass
)

type action string

const (
	acquires   action = "acquires"
	regains    action = "regains" // believes again after a gap: an extension came late
	downgrades action = "downgrades"
	finishes   action = "ends"
)

// step is one operation on the model.
type step struct {
	action action
	who    string
	class  int
	down   bool // the hold was downgraded: it may end as a reader
	fence  uint64
}

func (s state) take(in step) (state, bool) {
	mine := s.class == in.class
	switch in.action {
	case acquires:
		if s.count > 0 && !mine {
			return s, false
		}
		if !mine {
			s.class, s.own = in.class, 0
		}
		s.count++
		return s.hand(in)
	case regains: // nobody else had it since, unless readers among readers
		if !mine && (in.class != readers || s.count > 0) {
			return s, false
		}
		s.class = in.class
		s.count++
	case downgrades:
		if s.count > 0 && mine {
			s.class = readers
		}
	case finishes:
		if s.count == 0 || !mine && !(in.down && s.class == readers) {
			return s, false
		}
		s.count--
	}
	return s, true
}

// hand hands out the token of an acquisition that has just taken effect.
func (s state) hand(in step) (state, bool) {
	switch {
	case in.fence == 0: // not fenced: it has no part in the order
		return s, true
	case in.class == readers:
		s.any = max(s.any, in.fence)
		return s, in.fence >= s.excluding
	case in.fence == s.own: // the ownership goes on; or the owner is back, and it was not over on every master
		return s, true
	case s.own != 0 && s.count > 1: // an inner hold: whether it may have one of its own, Fencing says, which knows of faults
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

// never is the return of what may take effect at any time.
const never = time.Duration(math.MaxInt64)

// classes numbers the groups of holders.
type classes map[group]int

func (c classes) of(mode string, h *hold) int {
	g := groupOf(mode, h)
	if g.shared == history.ModeReader {
		return readers
	}
	if _, ok := c[g]; !ok {
		c[g] = firstClass + len(c)
	}
	return c[g]
}

// operations are the steps that a hold takes. lanes numbers the workers for the picture.
func (c classes) operations(h *hold, lane int) []porcupine.Operation {
	var ops []porcupine.Operation
	add := func(s step, from, to time.Duration) {
		s.who = who(h.who)
		ops = append(ops, porcupine.Operation{ClientId: lane, Input: s, Call: int64(from), Return: int64(to)})
	}
	mode := h.acquired.Mode
	class, down := c.of(mode, h), false
	add(step{action: acquires, class: class, fence: h.acquired.Fence}, h.asked.T, h.acquired.T)
	over := max(h.acquired.T, h.acquired.Until) // if it never believed
	for i, b := range h.beliefs {
		if b.mode != mode { // from here on it is a reader
			add(step{action: downgrades, class: class}, b.start, never)
			mode, down = b.mode, true
		}
		if i > 0 && b.start > over {
			add(step{action: finishes, class: class, down: down}, over, b.start)
			add(step{action: regains, class: c.of(mode, h)}, over, b.start)
		}
		over = b.end
	}
	last := never
	if h.clean() && h.returned.T >= over {
		last = h.returned.T
	}
	add(step{action: finishes, class: class, down: down}, over, last)
	return ops
}
