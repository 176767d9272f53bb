package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/picture"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// Options of a run of a scenario.
type Options struct {
	// Backend is the name of the backend of the masters. If it is backend.Given, Masters are their URLs.
	Backend string
	Masters []string
	// Seed determines the faults and the random choices of the clients.
	Seed uint64
	// Schedules is the number of schedules that the simulation plays, of this seed and the following ones, in Order and
	// those that follow, Orders in all. Playing returns what plays them with a lock.
	Schedules int
	Playing   func(lock string) (simulation.Play, error)
	Order     uint64
	Orders    int
	// Dir is an empty folder for the verdict, the history and the logs.
	Dir string
	// Command makes the command that runs a client.
	Command func() *exec.Cmd
	// Replay is the command that repeats the run. ReplayOne returns the one that plays a single schedule of a scenario.
	Replay    string
	ReplayOne func(scenario string, seed, order uint64) string
	// Say reports progress to a person.
	Say func(format string, args ...any)

	tolerated time.Duration // the longest stall of the harness; 0: longestStall
}

// open returns the masters of a run. They are up.
func (o Options) open(ctx context.Context, s Scenario) (*backend.Backend, error) {
	if o.Backend == backend.Given {
		mark := fmt.Sprintf("%s%s-%d", backend.PrefixBegin, time.Now().UTC().Format("20060102T150405.000"), os.Getpid())
		o.Say("looking at %d masters; whatever this run leaves there has %q in its name", len(o.Masters), mark)
		return backend.Take(ctx, o.Masters, mark)
	}
	o.Say("starting %d masters (%s)", Masters, o.Backend)
	return backend.Open(ctx, o.Backend, Masters, s.Loses)
}

// Play plays the scenario and returns the verdicts. An error means that there is no verdict: the masters could not be
// started, or ctx ended.
func Play(ctx context.Context, s Scenario, o Options) (Outcome, error) {
	out := o.outcome(s)
	masters, err := o.open(ctx, s)
	if err != nil {
		return out, err
	}
	begin := time.Now()
	events, err := play(ctx, s, o, &out, masters)
	out.Took = time.Since(begin)
	err = errors.Join(err, masters.Close())
	if len(out.Verdicts) == 0 { // it was skipped, or is not worth a report
		return out, err
	}
	text := out.Text(events, append(masters.Notes, fmt.Sprintf("%d client processes", s.Clients))...)
	var findings []check.Finding
	for _, v := range out.Verdicts {
		findings = append(findings, v.Findings...)
	}
	title := fmt.Sprintf("%s, seed %d", s.Name, o.Seed)
	page := picture.Save(filepath.Join(o.Dir, "history.html"), title, text, events, findings)
	return out, errors.Join(err, out.save(text), page)
}

// save writes the text into the folder of the run, if it has one.
func (o Outcome) save(text string) error {
	if o.Folder == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(o.Folder, "verdict.txt"), []byte(text), 0o644)
}
