package suite

import (
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
	containers  bool
	rounds      int
	slice       time.Duration // 0 for each part's default
	callers     []int
	rate        float64
	ttl         time.Duration
	contestants string // names of contestants
	pool        int
	profiles    []report.WANProfile
	shapes      []report.Shape
	faults      []fault
	locks       int
	cpuProfile  string
	memProfile  string
}

const (
	fullRounds, smokeRounds = 5, 3
	defaultCallers          = "1,8,64,512"
	smokeCallers            = "1,64,512"
	defaultTTL              = 8 * time.Second // redsync's own default; redsync gives each master a twentieth of it
	most                    = 4096            // maximum of callers; a peer has as many connections
	smokeLocks              = 3_000
)

// parse parses the command line. If help was requested, the error is flag.ErrHelp.
func parse(args []string, out io.Writer) (*settings, error) {
	s := &settings{}
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
	f.BoolVar(&s.files.JSON, "json", false, "write JSON, every round in it, in place of tables")
	f.StringVar(&s.files.Save, "save", "", "write the JSON to this `file`, in addition to all other output")
	f.StringVar(&s.files.HTML, "html", "", "write a report with pictures to this `file`")
	f.StringVar(&s.files.Pictures, "pictures", "", "write each picture as an SVG file to this `directory`")
	masters := f.String(
		"masters", "",
		"`URLs` of masters to use, by commas, in place of starting some; they are not emptied, and no fault is done to them",
	)
	f.BoolVar(
		&s.containers, "containers", false,
		"start the masters in containers, used by their own addresses, in place of processes",
	)
	f.IntVar(&s.rounds, "rounds", 0, fmt.Sprintf("rounds of each part (default %d, smoke %d)", fullRounds, smokeRounds))
	f.DurationVar(&s.slice, "slice", 0, "how long a contestant runs in each round (default: what suits the part)")
	callers := f.String(
		"callers", "", "latency: numbers of concurrent callers (default "+defaultCallers+", smoke "+smokeCallers+")",
	)
	f.Float64Var(
		&s.rate, "rate", 0,
		"latency, faults: open loop, this many pairs a second of all callers together; latency counts from when a pair "+
			"was due (default: closed loop)",
	)
	f.DurationVar(
		&s.ttl, "ttl", defaultTTL, "TTL of every contestant's locks; masters may vote that long after their start",
	)
	f.StringVar(&s.contestants, "contestants", "", "run only these, e.g. redlock,redsync")
	f.IntVar(
		&s.pool, "pool", 0,
		"PoolSize of the peers' go-redis clients, for each master (default as many as callers, so that none waits for a "+
			"connection; go-redis' own default is 10 for each CPU)",
	)
	profiles := f.String(
		"profiles", "", "wan: which of "+strings.Join(profileNames(), ", ")+" (default all, smoke five-continents)",
	)
	shapes := f.String("shapes", "", "contention: processes x goroutines (default "+defaultShapes+")")
	scenarios := f.String(
		"scenarios", "", "faults: which of "+strings.Join(scenarioNames(), ", ")+" (default all, smoke frozen-2s)",
	)
	f.IntVar(
		&s.locks, "locks", 0,
		fmt.Sprintf("scale: how many locks are held (default %d, smoke %d)", report.FullLocks, smokeLocks),
	)
	f.StringVar(
		&s.cpuProfile, "cpuprofile", "",
		"latency: write a CPU profile of what is measured to this `file`; with -contestants redlock it is redlock's alone",
	)
	f.StringVar(&s.memProfile, "memprofile", "", "latency: write a profile of all allocations to this `file`")

	words, err := parseAnywhere(f, args)
	if err != nil {
		return nil, err
	}
	if *compare {
		if len(words) != 2 {
			return nil, errors.New("-compare takes two files: bench -compare OLD.json NEW.json")
		}
		s.compare = words
		return s, nil
	}
	if s.parts, err = pickParts(words); err != nil {
		return nil, err
	}
	if *masters != "" {
		s.masters = strings.Split(*masters, ",")
	}
	if err := s.applyDefaults(); err != nil {
		return nil, err
	}
	if s.callers, err = numbers(s.choose(*callers, defaultCallers, smokeCallers)); err != nil {
		return nil, err
	}
	if s.pool == 0 {
		s.pool = slices.Max(s.callers)
	}
	if s.profiles, err = pickProfiles(s.choose(*profiles, "", "five-continents")); err != nil {
		return nil, err
	}
	if s.shapes, err = pickShapes(s.choose(*shapes, defaultShapes, defaultShapes)); err != nil {
		return nil, err
	}
	if s.faults, err = pickFaults(s.choose(*scenarios, "", "frozen-2s")); err != nil {
		return nil, err
	}
	return s, s.checkContestants()
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

func (s *settings) choose(given, full, smoke string) string {
	switch {
	case given != "":
		return given
	case s.smoke:
		return smoke
	}
	return full
}

// applyDefaults sets omitted values, and returns an error for invalid ones.
func (s *settings) applyDefaults() error {
	if s.rounds == 0 {
		s.rounds = fullRounds
		if s.smoke {
			s.rounds = smokeRounds
		}
	}
	if s.locks == 0 {
		s.locks = report.FullLocks
		if s.smoke {
			s.locks = smokeLocks
		}
	}
	switch {
	case s.rounds < 0:
		return fmt.Errorf("-rounds %d: at least 1", s.rounds)
	case s.slice != 0 && s.slice < time.Millisecond:
		return fmt.Errorf("-slice %v: at least 1ms", s.slice)
	case s.ttl < time.Second:
		return fmt.Errorf("-ttl %v: at least 1s, or a busy machine loses locks to their TTL", s.ttl)
	case s.pool < 0:
		return fmt.Errorf("-pool %d: at least 1", s.pool)
	case s.locks < 0:
		return fmt.Errorf("-locks %d: at least 1", s.locks)
	case s.rate < 0:
		return fmt.Errorf("-rate %v: above 0, in pairs a second", s.rate)
	case s.containers && len(s.masters) > 0:
		return errors.New("-containers and -masters: one of the two")
	case len(s.masters) > 1 && len(s.masters)%2 == 0:
		return fmt.Errorf("-masters: %d of them; one, or an odd number", len(s.masters))
	}
	return nil
}

// checkContestants returns an error if -contestants names an unknown contestant.
func (s *settings) checkContestants() error {
	everybody := slices.Concat(peers.All(), peers.Kinds(), peers.Contenders(),
		peers.SlotContestants(false), peers.SlotContestants(true))
	seen := map[string]bool{}
	everybody = slices.DeleteFunc(everybody, func(c *peers.Contestant) bool {
		twice := seen[c.Name]
		seen[c.Name] = true
		return twice
	})
	_, err := peers.Pick(everybody, s.contestants)
	return err
}

// sliceOf returns how long a contestant runs in a round.
func (s *settings) sliceOf(full, smoke time.Duration) time.Duration {
	switch {
	case s.slice > 0:
		return s.slice
	case s.smoke:
		return smoke
	}
	return full
}

// roundsFor returns the maximum number of rounds of a part whose rounds are long.
func (s *settings) roundsFor(full int) int {
	if s.smoke {
		return 1
	}
	return full
}

// rampOf returns the smoke or the full value of a duration.
func (s *settings) rampOf(full, smoke time.Duration) time.Duration {
	if s.smoke {
		return smoke
	}
	return full
}

func numbers(list string) ([]int, error) {
	var all []int
	for text := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > most {
			return nil, fmt.Errorf("-callers %q: %q is not a number from 1 to %d", list, text, most)
		}
		all = append(all, n)
	}
	return all, nil
}
