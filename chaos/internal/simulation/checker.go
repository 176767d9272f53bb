package simulation

import (
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

// The checkers that judge a schedule, by the names of package check. Some findings of the run itself count as theirs.
const (
	ByExclusion       = "exclusion"
	ByLinearizability = "linearizability"
	BySlots           = "slots"
	ByMinHold         = "minimum hold"
	ByLeaders         = "leaders"
	ByFencing         = "fencing"
	ByRegister        = "register"
	ByLossNotified    = "loss notified"
	ByLiveness        = "liveness"
	ByResidue         = "residue"
	ByWellFormed      = "well-formed"
	ByContract        = "contract" // calls do what their documentation says
	ByLoad            = "load"     // no client asks all the time
	ByHarness         = "harness"  // the schedule could be run
)

// Checkers returns the names of all checkers.
func Checkers() []string {
	return []string{
		ByExclusion, ByLinearizability, BySlots, ByMinHold, ByLeaders, ByFencing, ByRegister, ByLossNotified,
		ByLiveness, ByResidue, ByWellFormed, ByContract, ByLoad, ByHarness,
	}
}

// Problem is a finding of the run itself: of what its calls returned, and of what its masters have.
type Problem struct {
	Entry
	By string
}

func (p Problem) String() string {
	return fmt.Sprintf("PROBLEM (%s): %s %s: %s", p.By, stamp(p.At), p.Where, p.Text)
}

// Violation is a finding of a checker in the history.
type Violation struct {
	By string
	check.Finding
}

func (v Violation) String() string { return fmt.Sprintf("VIOLATION (%s): %s", v.By, v.Text) }

// By returns the checkers that found something: those of violations first, then those of problems.
func (r *Result) By() (all []string) {
	add := func(c string) {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	for _, v := range r.Violations {
		add(v.By)
	}
	for _, p := range r.Problems {
		add(p.By)
	}
	return all
}
