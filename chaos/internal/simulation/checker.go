package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

// The checkers of a schedule that no history needs, beside those of package check.
const (
	ByContract = "contract" // calls do what their documentation says
	ByLoad     = "load"     // no client asks all the time
)

// Checkers returns the names of all checkers that judge a schedule. Some findings of the run itself count as theirs.
func Checkers() []string {
	var names []string
	for _, c := range check.Catalog() {
		if !slices.Contains([]string{check.ByLeaks, check.ByCoverage, check.ByClients}, c.Name) {
			names = append(names, c.Name)
		}
	}
	return append(names, ByContract, ByLoad)
}

// Problem is a finding of the run itself: of what its calls returned, and of what its masters have.
type Problem struct {
	Entry
	By string
}

func problemOf(by string, at time.Duration, where, text string) Problem {
	return Problem{By: by, Entry: Entry{At: at, Where: where, Text: text}}
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

// Said returns the first finding of a checker that contains a text, "" if there is none.
func (r *Result) Said(by, text string) string {
	for _, v := range r.Violations {
		if v.By == by && strings.Contains(v.Text, text) {
			return v.String()
		}
	}
	for _, p := range r.Problems {
		if p.By == by && strings.Contains(p.Text, text) {
			return p.String()
		}
	}
	return ""
}
