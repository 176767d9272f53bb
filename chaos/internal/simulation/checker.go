package simulation

import (
	"fmt"
	"slices"
)

// Checker is what judges one promise.
type Checker string

// The checkers.
const (
	ByExclusion    Checker = "exclusion"     // no two believe in a lock at once that must not
	ByFencing      Checker = "fencing"       // tokens grow, and an owner has one
	ByRegister     Checker = "register"      // what checks fencing tokens loses no update
	ByLossNotified Checker = "loss notified" // a lock's context ends no later than its deadline, and a lock that is gone is not kept
	ByLiveness     Checker = "liveness"      // who waits gets it, who keeps it alive has it, and no call gets stuck
	ByResidue      Checker = "residue"       // nothing is left on any master, nor a connection to it
	ByContract     Checker = "contract"      // calls return what they say
	ByLoad         Checker = "load"          // nobody asks all the time
	ByHarness      Checker = "harness"       // the schedule could be run
)

// Checkers returns all of them.
func Checkers() []Checker {
	return []Checker{
		ByExclusion,
		ByFencing,
		ByRegister,
		ByLossNotified,
		ByLiveness,
		ByResidue,
		ByContract,
		ByLoad,
		ByHarness,
	}
}

// Problem is something that must not be, other than two holds that break a rule.
type Problem struct {
	Entry
	By Checker
}

func (p Problem) String() string {
	return fmt.Sprintf("PROBLEM (%s): %s %s: %s", p.By, stamp(p.At), p.Where, p.Text)
}

// By is the checker that found the violation.
func (v Violation) By() Checker {
	if v.Rule == twoHolders {
		return ByExclusion
	}
	return ByFencing
}

// By returns the checkers that found something, the most telling first.
func (r *Result) By() (all []Checker) {
	add := func(c Checker) {
		if !slices.Contains(all, c) {
			all = append(all, c)
		}
	}
	for _, v := range r.Violations {
		add(v.By())
	}
	for _, p := range r.Problems {
		add(p.By)
	}
	return all
}
