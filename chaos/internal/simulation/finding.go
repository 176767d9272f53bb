package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Finding is a schedule in which a checker found something.
type Finding struct {
	Seed uint64
	// Order is the order in which it shows. Exact says that it shows in every run of that order.
	Order uint64
	Exact bool
	By    []string
	// Report describes the run in which it was found.
	Report string
	// Minimal is the smallest schedule that shows it, in MinimalOrder; nil if there is none. Trace describes its run.
	Minimal      *Schedule
	MinimalOrder uint64
	Trace        string
	// Replay is the command that plays the schedule again.
	Replay string
	// Tried is the number of orders in which a finding of a run that was not exact was searched for.
	Tried int
}

// tried is the number of orders in which a finding of a run that was not exact is searched for.
const tried = 20

// pin pins the first findings.
func (b Batch) pin(ctx context.Context, all []Finding) {
	if b.Exact != nil && len(all) > 0 {
		play, err := b.Exact()
		if err != nil {
			b.Say("findings are neither repeated nor shrunk: %v", err)
		}
		for i := 0; i < min(enough, len(all)) && err == nil; i++ {
			all[i].pin(ctx, b, play)
		}
	}
	if b.Replay != nil {
		for i := range all {
			all[i].Replay = b.Replay(all[i].Seed, all[i].Order)
		}
	}
}

// pin searches for an order in which the finding shows, and shrinks its schedule.
func (f *Finding) pin(ctx context.Context, b Batch, play Play) {
	s := b.Draw(f.Seed)
	b.Say("seed %d: the same exactly, and smaller", f.Seed)
	from, to := f.Order, f.Order
	if f.Order == 0 {
		from, to = 1, tried
	}
	for order := from; order <= to; order++ {
		if ctx.Err() != nil {
			return
		}
		f.Tried++
		if r := play(s, order); slices.Contains(r.By(), f.By[0]) {
			f.Order, f.Exact, f.Report = order, true, r.Report()
			break
		}
	}
	if !f.Exact {
		return
	}
	small, order, last := Shrink(ctx, s, f.Order, play, f.By[0])
	f.Minimal, f.MinimalOrder = &small, order
	if last != nil {
		f.Trace = last.Report()
	}
}

// String describes the finding: the order in which it shows, the smallest schedule with its trace, and the report.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, found by %v", f.Seed, f.By)
	switch {
	case f.Exact:
		fmt.Fprintf(&b, "; it shows in every run of order %d\n", f.Order)
	case f.Tried > 0:
		fmt.Fprintf(&b, " in a run on many threads; it shows in none of %d exact orders\n", f.Tried)
	default:
		b.WriteString(" in a run whose order is not fixed\n")
	}
	if f.Minimal != nil {
		fmt.Fprintf(&b, "the smallest schedule that shows it, in order %d:\n%v%s\n%s\n",
			f.MinimalOrder, f.Minimal, f.Minimal.JSON(), f.Trace)
	}
	b.WriteString(f.Report)
	if f.Replay != "" {
		fmt.Fprintf(&b, "again: %s\n", f.Replay)
	}
	return b.String()
}
