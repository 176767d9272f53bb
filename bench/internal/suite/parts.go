package suite

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/bench/internal/masters"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// A session is one run: its settings, its masters, and its report.
type session struct {
	*settings
	masters  *masters.Set
	report   *report.Report
	progress *progress
}

// A part is one part of the benchmark.
type part struct {
	name, what string
	masters    func(*settings) int // number of masters
	run        func(context.Context, *session) error
}

func allParts() []*part {
	five := func(*settings) int { return peers.QuorumMasters }
	return []*part{
		{
			"latency",
			"lock + unlock of every contestant, on distinct names, for each number of callers and of masters",
			latencyMasters,
			latencyPart,
		},
		{"kinds", "every kind of lock, and fencing, against the plain mutex", five, kindsPart},
		{
			"wan",
			"lock, extend, unlock and hand-over over far links, against the round trip of the third nearest master",
			five,
			wanPart,
		},
		{"contention", "goroutines and processes that want one name: throughput, waits, fairness", five, contentionPart},
		{"slots", "semaphores with many and few slots, in four processes, against mutexes", five, slotsPart},
		{
			"faults",
			"a master frozen, killed and slow under a steady load: latency over time, what is left on the masters",
			five,
			faultsPart,
		},
		{"scale", "many held locks with keepalive in one Locker: memory, CPU, renewals", five, scalePart},
	}
}

// pickParts returns the named parts, or all if none is named, in the order in which they run.
func pickParts(words []string) ([]*part, error) {
	all := allParts()
	for _, w := range words {
		if !slices.ContainsFunc(all, func(p *part) bool { return p.name == w }) {
			var known []string
			for _, p := range all {
				known = append(known, p.name)
			}
			return nil, fmt.Errorf("there is no part %q; there are %s; see -h", w, strings.Join(known, ", "))
		}
	}
	if len(words) == 0 {
		return all, nil
	}
	return slices.DeleteFunc(all, func(p *part) bool { return !slices.Contains(words, p.name) }), nil
}

// mastersNeeded returns the number of masters that the parts need.
func (s *settings) mastersNeeded() (n int) {
	for _, p := range s.parts {
		n = max(n, p.masters(s))
	}
	return n
}

func usage(w io.Writer, f *flag.FlagSet) {
	fmt.Fprint(w, `usage: go run ./bench [PART...] [flags]
       go run ./bench -compare OLD.json NEW.json

Compares redlock over a quorum of masters and over one with other clients, side by side in one run, on masters that it
starts for itself (redis-server must be installed). Without a PART all parts run, in less than twenty minutes:

`)
	for _, p := range allParts() {
		fmt.Fprintf(w, "  %-12s %s\n", p.name, p.what)
	}
	fmt.Fprint(w, `
  go run ./bench latency -callers 1,64        some of it
  go run ./bench -check                       against the project's targets
  go run ./bench -html report.html            with pictures
  go run ./bench latency -masters redis://a,redis://b,redis://c

Flags:
`)
	f.PrintDefaults()
}
