package simulation

import (
	"fmt"
	"slices"
)

// Checker names the part of the judgment that verifies one promise.
type Checker string

// The checkers, each with the promise that it verifies.
const (
	ByExclusion    Checker = "exclusion"     // two locks that exclude each other are never held at once
	ByFencing      Checker = "fencing"       // fencing tokens grow, and nested holds of one owner share one
	ByRegister     Checker = "register"      // a register that checks fencing tokens loses no update
	ByLossNotified Checker = "loss notified" // a context ends by its lock's deadline, and a lost lock is not kept
	ByLiveness     Checker = "liveness"      // waiters get the lock, keepalive keeps it, and no call gets stuck
	ByResidue      Checker = "residue"       // no key and no connection is left on any master
	ByContract     Checker = "contract"      // calls do what their documentation says
	ByLoad         Checker = "load"          // no client asks all the time
	ByHarness      Checker = "harness"       // the schedule could be run
)

// Checkers returns all checkers.
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

// Problem is a finding other than a pair of holds that break a rule.
type Problem struct {
	Entry
	By Checker
}

func (p Problem) String() string {
	return fmt.Sprintf("PROBLEM (%s): %s %s: %s", p.By, stamp(p.At), p.Where, p.Text)
}

// By returns the checker that found the violation.
func (v Violation) By() Checker {
	if v.Rule == twoHolders {
		return ByExclusion
	}
	return ByFencing
}

// By returns the checkers that found something: those of violations first, then those of problems.
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
