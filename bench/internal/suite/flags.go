package suite

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// settings are the values of the command line.
type settings struct {
	parts       []*part // the parts to run
	smoke       bool
	compare     []string // two files to compare, or none
	read        string   // a report to read instead of measuring
	files       report.Outputs
	masters     []string // given masters; if there are none, the run starts its own
	rounds      int
	slice       time.Duration // 0 for each part's default
	callers     []int
	ttl         time.Duration
	contestants string // names of contestants
	profiles    []profile
	shapes      []shape
	faults      []fault
	locks       int
}

const (
	fullRounds, smokeRounds = 5, 3
	longRounds              = 3               // of parts whose rounds are long
	defaultTTL              = 8 * time.Second // redsync's own default; redsync gives each master a twentieth of it
	most                    = 4096            // maximum of callers; a peer has as many connections
	smokeLocks              = 3_000
)

// A part is one part of the benchmark.
type part struct {
	name, what string
	run        func(context.Context, *session) error
}

func allParts() []*part {
	return []*part{
		{"latency", "lock + unlock of every contestant, on distinct names, by callers and masters", latencyPart},
		{"kinds", "every kind of lock, and fencing, against the plain mutex", kindsPart},
		{
			"wan", "lock, extend, unlock and hand-over over far links, against the round trip of the third nearest master",
			wanPart,
		},
		{"contention", "goroutines and processes that want one name: throughput, waits, fairness", contentionPart},
		{"waiting", "commands of callers who wait for a holder that does nothing", waitingPart},
		{"slots", "semaphores with many and few slots, in four processes, against mutexes", slotsPart},
		{"faults", "a master frozen, killed and slow under a steady load: latency, what is left on the masters", faultsPart},
		{"scale", "many held locks with keepalive in one Locker: memory, CPU, renewals", scalePart},
	}
}

// parse parses the command line. If help was requested, the error is flag.ErrHelp.
func parse(args []string, out io.Writer) (s *settings, err error) {
	s = &settings{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() { usage(out, f) }
	f.BoolVar(&s.smoke, "smoke", false, "a short run, to see that everything works; its figures mean little")
	f.BoolVar(
		&s.files.Check, "check", false,
		"compare with the project's targets, exit with 1 and name what falls short; in a smoke run ratios only, with slack",
	)
	compare := f.Bool(
		"compare", false,
		"compare two runs: bench -compare OLD.json NEW.json; exits with 1 if something got slower by more than the noise",
	)
	f.StringVar(
		&s.read, "read", "", "read a run from this JSON `file` in place of measuring one, to show, check or draw it",
	)
	f.StringVar(&s.files.Save, "save", "", "write JSON, every round in it, to this `file`")
	f.StringVar(&s.files.HTML, "html", "", "write a report with pictures to this `file`")
	f.StringVar(&s.files.Pictures, "pictures", "", "write each picture as an SVG file to this `directory`")
	given := f.String(
		"masters", "",
		"`URLs` of masters to use, by commas, in place of starting some; they are not emptied, and no fault is done to them",
	)
	f.IntVar(&s.rounds, "rounds", 0, fmt.Sprintf("rounds of each part (default %d, smoke %d)", fullRounds, smokeRounds))
	f.DurationVar(&s.slice, "slice", 0, "how long a contestant runs in each round (default: what suits the part)")
	callers := f.String("callers", "", "latency: numbers of concurrent callers (default 1,8,64,512, smoke 1,64,512)")
	f.DurationVar(
		&s.ttl, "ttl", defaultTTL, "TTL of every contestant's locks; masters may vote that long after their start",
	)
	f.StringVar(&s.contestants, "contestants", "", "run only these, e.g. redlock,redsync")
	profiles := f.String(
		"profiles", "", "wan: which of "+namesOf(allProfiles())+" (default all, smoke five-continents)",
	)
	shapes := f.String("shapes", "1x32,8x4", "contention: processes x goroutines")
	scenarios := f.String("scenarios", "", "faults: which of "+namesOf(allFaults())+" (default all, smoke frozen-2s)")
	f.IntVar(
		&s.locks, "locks", 0,
		fmt.Sprintf("scale: how many locks are held (default %d, smoke %d)", report.FullLocks, smokeLocks),
	)
	words, err := parseAnywhere(f, args)
	if err != nil {
		return nil, err
	}
	if *compare {
		if s.compare = words; len(words) != 2 {
			return nil, errors.New("-compare takes two files: bench -compare OLD.json NEW.json")
		}
		return s, nil
	}
	if *given != "" {
		s.masters = strings.Split(*given, ",")
	}
	if err := s.applyDefaults(); err != nil {
		return nil, err
	}
	if s.parts, err = pick("part", strings.Join(words, ","), allParts()); err != nil {
		return nil, err
	}
	if s.callers, err = numbers("-callers", s.choose(*callers, "1,8,64,512", "1,64,512"), ","); err != nil {
		return nil, err
	}
	if s.profiles, err = pick("-profiles", s.choose(*profiles, "", report.FiveContinents), allProfiles()); err != nil {
		return nil, err
	}
	for text := range strings.SplitSeq(*shapes, ",") {
		n, err := numbers("-shapes, such as 8x4", text, "x")
		if err != nil || len(n) != 2 {
			return nil, fmt.Errorf("-shapes %q: %q is not PROCESSESxGOROUTINES, such as 8x4", *shapes, text)
		}
		s.shapes = append(s.shapes, shape{n[0], n[1]})
	}
	if s.faults, err = pick("-scenarios", s.choose(*scenarios, "", "frozen-2s"), allFaults()); err != nil {
		return nil, err
	}
	return s, peers.Check(s.contestants)
}

// parseAnywhere parses flags and words in any order.
func parseAnywhere(f *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			return words, nil
		}
		words, args = append(words, f.Arg(0)), f.Args()[1:]
	}
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
Flags:
`)
	f.PrintDefaults()
}

// choose returns the given value, or the default of a full or a smoke run.
func (s *settings) choose(given, full, smoke string) string {
	if given != "" {
		return given
	}
	return either(s, full, smoke)
}

// either returns the value of a full or of a smoke run.
func either[T any](s *settings, full, smoke T) T {
	if s.smoke {
		return smoke
	}
	return full
}

// applyDefaults sets omitted values, and returns an error for invalid ones.
func (s *settings) applyDefaults() error {
	if s.rounds == 0 {
		s.rounds = either(s, fullRounds, smokeRounds)
	}
	if s.locks == 0 {
		s.locks = either(s, report.FullLocks, smokeLocks)
	}
	switch {
	case s.rounds < 0:
		return fmt.Errorf("-rounds %d: at least 1", s.rounds)
	case s.slice != 0 && s.slice < time.Millisecond:
		return fmt.Errorf("-slice %v: at least 1ms", s.slice)
	case s.ttl < time.Second:
		return fmt.Errorf("-ttl %v: at least 1s, or a busy machine loses locks to their TTL", s.ttl)
	case s.locks < 0:
		return fmt.Errorf("-locks %d: at least 1", s.locks)
	case len(s.masters) > 1 && len(s.masters)%2 == 0:
		return fmt.Errorf("-masters: %d of them; one, or an odd number", len(s.masters))
	}
	return nil
}

// sliceOf returns how long a contestant runs in a round.
func (s *settings) sliceOf(full, smoke time.Duration) time.Duration {
	if s.slice > 0 {
		return s.slice
	}
	return either(s, full, smoke)
}

// mastersNeeded returns the number of masters that the parts need.
func (s *settings) mastersNeeded() int {
	n := peers.QuorumMasters
	if s.parts[0].name == "latency" {
		for _, c := range latencyContestants(s) {
			n = max(n, c.Masters)
		}
	}
	return n
}

func numbers(flag, list, separator string) (all []int, err error) {
	for text := range strings.SplitSeq(list, separator) {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("%s %q: %q is not a number from 1 to %d", flag, list, text, most)
		}
		all = append(all, n)
	}
	return all, nil
}

type named interface{ called() string }

func (p *part) called() string   { return p.name }
func (p profile) called() string { return p.name }
func (f fault) called() string   { return f.name }

func namesOf[T named](all []T) string {
	var names []string
	for _, t := range all {
		names = append(names, t.called())
	}
	return strings.Join(names, ", ")
}

// pick returns the elements that a comma-separated list names, or all if it is empty, in the order of all.
func pick[T named](flag, list string, all []T) ([]T, error) {
	if list == "" {
		return all, nil
	}
	wanted := strings.Split(list, ",")
	for _, w := range wanted {
		if !slices.ContainsFunc(all, func(t T) bool { return t.called() == w }) {
			return nil, fmt.Errorf("%s: there is no %q; there are %s", flag, w, namesOf(all))
		}
	}
	return slices.DeleteFunc(all, func(t T) bool { return !slices.Contains(wanted, t.called()) }), nil
}
