package keepalive

import (
	"math"
	"time"
)

// suspension detects that the machine was suspended. Alarms stand still during a suspension, so a Schedule checks for
// one regularly while it has locks.
type suspension struct {
	total func() time.Duration // the total time of suspensions; nil: the clock does not report it
	last  time.Duration        // the total at the last check
	next  time.Duration        // when to check next
}

// checkEvery bounds how long after the resumption of the machine the context of a lost lock ends.
const checkEvery = time.Second

// nextCheck returns when to check next.
func (s *suspension) nextCheck(now time.Duration) time.Duration {
	if s.total == nil {
		return math.MaxInt64
	}
	if s.next <= now {
		s.next = now + checkEvery
	}
	return s.next
}

// check reports whether the machine was suspended since the last check.
func (s *suspension) check() bool {
	if s.total == nil {
		return false
	}
	total := s.total()
	if total == s.last {
		return false
	}
	s.last = total
	return true
}
