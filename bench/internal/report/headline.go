package report

import (
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/bench/internal/peers"
)

// rivals are the contestants that the headline compares redlock with.
var rivals = []string{peers.Redsync, peers.Redislock, peers.Rueidislock}

// headline says who is how much faster: one sentence for each number of callers with names of their own, and one for
// each shape of contention for one name.
func (r *Report) headline() (all []string) {
	for _, callers := range loadsOf(r.Latency) {
		ours := RowOf(r.Latency, callers, peers.Redlock)
		var parts []string
		for _, name := range rivals {
			theirs := RowOf(r.Latency, callers, name)
			if got, ok := ratioOfRows(theirs, ours, pairMicros); ok {
				parts = append(parts, compared(got, name, theirs.Masters))
			}
		}
		if len(parts) > 0 {
			all = append(all, fmt.Sprintf("Lock + unlock, %d %s: redlock over %d masters is %s.",
				callers, plural(callers, "caller"), ours.Masters, strings.Join(parts, ", ")))
		}
	}
	seen := map[Shape]bool{}
	for _, row := range r.Contention {
		if seen[row.Shape] {
			continue
		}
		seen[row.Shape] = true
		var clauses []string
		for _, us := range []struct{ name, is string }{
			{peers.Redlock, "redlock is "}, {peers.RedlockNoHandOver, "without hand-over it is "},
		} {
			if parts := r.contended(row.Shape, us.name); len(parts) > 0 {
				clauses = append(clauses, us.is+strings.Join(parts, ", "))
			}
		}
		if len(clauses) > 0 {
			all = append(all, fmt.Sprintf("One name, processes × goroutines %v: %s.", row.Shape, strings.Join(clauses, "; ")))
		}
	}
	return all
}

// contended compares one of ours with each rival that contended for one name in the same shape.
func (r *Report) contended(s Shape, ours string) (parts []string) {
	for _, name := range rivals {
		if got, ok := throughputRatio(s, ours, name)(r); ok {
			parts = append(parts, compared(got, name, contentionOf(r.Contention, s, name).Masters))
		}
	}
	return parts
}

// compared says how much faster redlock is than a rival, by the ratio of their throughputs. Where the rounds disagree
// about who is faster, it says that the difference is within the noise.
func compared(ratio spread, rival string, masters int) string {
	who := peers.Label(rival)
	if masters > 0 {
		who = withMasters(rival, masters)
		who = strings.Replace(who, ", ", " (", 1) + ")"
	}
	switch {
	case ratio.Low > 1:
		return fmt.Sprintf("%s × as fast as %s", times(ratio.Median), who)
	case ratio.High < 1:
		return fmt.Sprintf("%s × slower than %s", times(1/ratio.Median), who)
	default:
		return fmt.Sprintf("as fast as %s within the noise", who)
	}
}

// times formats a factor with two or three digits.
func times(v float64) string {
	if v >= 10 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
