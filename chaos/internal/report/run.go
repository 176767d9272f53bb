// Package report describes the result of a run: in a few lines of text, on a page, and in the index of all runs of a
// command. The picture is porcupine's.
package report

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Run is a scenario on one backend, which has been played or is still to be played.
type Run struct {
	// Name is the name of the scenario, Backend that of the backend that ran the masters.
	Name, Backend string
	// Seed is the seed of the run, and Replay the command that repeats it.
	Seed   uint64
	Replay string
	Began  time.Time
	Took   time.Duration
	// Pending says that there is no result yet. Skipped and NoVerdict say why there will be none.
	Pending            bool
	Skipped, NoVerdict string
	Verdicts           []check.Verdict
	// Excused maps the checkers whose findings do not count against the lock to the reason: this run does not promise
	// what they verify.
	Excused map[string]string
	// Unseen lists the promises that the scenario expects to be broken, and that no checker saw broken. Unkept lists the
	// promises that were not kept, a line each.
	Unseen, Unkept []string
	// Without has a line for each reason for which faults were left out.
	Without []string
	// Faults is the number of injected faults; each target counts.
	Faults int
	// Folder is the folder of the report and of Files; "" if none are kept.
	Folder string

	// Only the page of the run shows these. Events are the whole history in order of time.
	Events []history.Event
	// Notes are further remarks for the reader.
	Notes []string
	Files []File
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
