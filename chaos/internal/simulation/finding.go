package simulation

import (
	"context"
	"fmt"
	"strings"
)

// Finding is a schedule in which a checker found something.
type Finding struct {
	// Seed and Order are those in which it shows.
	Seed, Order uint64
	By          []string
	// Report describes the run in which it was found.
	Report string
	// Minimal is the smallest schedule that shows it, in MinimalOrder; nil if nothing could be left out. Trace describes
	// its run.
	Minimal      *Schedule
	MinimalOrder uint64
	Trace        string
	// Replay is the command that plays the schedule again.
	Replay string
}

// enough is the number of findings of a batch that are shrunk.
const enough = 5

// shrink shrinks the schedules of the first findings.
func (b Batch) shrink(ctx context.Context, all []Finding) {
	for i := range all {
		f := &all[i]
		if b.Replay != nil {
			f.Replay = b.Replay(f.Seed, f.Order)
		}
		if i >= enough || ctx.Err() != nil {
			continue
		}
		b.Say("seed %d: looking for a smaller schedule", f.Seed)
		if small, order, last := Shrink(ctx, b.Draw(f.Seed), f.Order, b.Play, f.By[0]); last != nil {
			f.Minimal, f.MinimalOrder, f.Trace = &small, order, last.Report()
		}
	}
}

// String describes the finding: the smallest schedule with its trace, and the report.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d in order %d, found by %v\n", f.Seed, f.Order, f.By)
	if f.Minimal != nil {
		fmt.Fprintf(&b, "the smallest schedule that shows it, in order %d:\n%s\n%s\n",
			f.MinimalOrder, f.Minimal.JSON(), f.Trace)
	}
	b.WriteString(f.Report)
	if f.Replay != "" {
		fmt.Fprintf(&b, "again: %s\n", f.Replay)
	}
	return b.String()
}
