// Package report describes the result of a run: in a few lines of text, on a page with a timeline, and in a table of
// what is promised under which fault.
package report

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Run is one run to report.
type Run struct {
	// Title is the name of the scenario.
	Title string
	// Backend is the name of the backend that ran the masters.
	Backend string
	// Seed is the seed of the run.
	Seed uint64
	// Replay is the command that repeats the run.
	Replay string
	Began  time.Time
	Took   time.Duration
	// Events are the whole history in order of time.
	Events   []history.Event
	Verdicts []check.Verdict
	// Excused maps the checkers whose findings do not count against the lock to the reason: this run does not promise
	// what they verify.
	Excused map[string]string
	// Unseen lists the promises that the scenario expects to be broken, and that no checker saw broken.
	Unseen []string
	// Notes are further remarks for the reader.
	Notes []string
	// Folder is the folder of Files, or "" if none are kept.
	Folder string
	Files  []File
	// Index is the path of the index page, relative to Folder, or "" if there is none.
	Index string
}

// File is a further file of the run.
type File struct {
	// Path is the path relative to the report.
	Path string
	// What describes the content.
	What string
}

// Good reports whether all promises were kept and all expected violations were seen. A run without verdicts is not
// good.
func (r Run) Good() bool {
	return len(r.Verdicts) > 0 && len(r.Unseen) == 0 &&
		!slices.ContainsFunc(r.Verdicts, func(v check.Verdict) bool { return !v.Held() && r.Excused[v.Checker] == "" })
}
