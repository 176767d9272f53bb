// Package report tells a person how a run ended: in a few lines of text, in a page with pictures, and in a table of
// what is promised under which fault.
package report

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Run is one run, as a report tells it.
type Run struct {
	// Title is what ran: the scenario.
	Title string
	// Backend is where the masters came from.
	Backend string
	// Seed is the one that Replay has.
	Seed uint64
	// Replay is the one command that runs the same again.
	Replay string
	Began  time.Time
	Took   time.Duration
	// Events are the whole history, in order of time.
	Events   []history.Event
	Verdicts []check.Verdict
	// Excused are the checkers whose findings are no fault of the lock, and why: what they look at is not promised here.
	Excused map[string]string
	// Unseen are the promises that the scenario says are broken, and that were not seen broken.
	Unseen   []string
	Controls []Control
	// Notes are what a reader should know beside.
	Notes []string
	// Folder is where Files are, "" if nothing is kept.
	Folder string
	Files  []File
	// Index is the page of all runs of the command, relative to Folder; "" if there is none.
	Index string
}

// Control is what a checker said of a lock that is broken on purpose.
type Control struct {
	// Lock is the lock, and Checker who was to catch it.
	Lock, Checker string
	// Caught: it did.
	Caught bool
	// Text is what it found, or why that is not what it was to find.
	Text string
	// After is how long that took, and Schedules in how many, where it was simulated.
	After     time.Duration
	Schedules int
	// Replay tries it again.
	Replay string
}

// File is a file of the run, beside the report.
type File struct {
	// Path is relative to the report.
	Path string
	// What says what is in it.
	What string
}

// Good reports whether everything held that is promised, what must be seen broken was, and every control was caught. A
// run without verdicts is not good.
func (r Run) Good() bool {
	return len(r.Verdicts) > 0 && len(r.Unseen) == 0 &&
		!slices.ContainsFunc(r.Verdicts, func(v check.Verdict) bool { return !v.Held() && r.Excused[v.Checker] == "" }) &&
		!slices.ContainsFunc(r.Controls, func(c Control) bool { return !c.Caught })
}
