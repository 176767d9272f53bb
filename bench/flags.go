package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// settings are what the command line asks for.
type settings struct {
	parts              []*part // which run
	smoke, check, json bool
	compare            []string // two files, or none
	files              outputs
	masters            []string // the user's; none: the run starts its own
	containers         bool
	rounds             int
	slice              time.Duration // 0: what the part thinks right
	callers            []int
	rate               float64
	ttl                time.Duration
	only               string // names of contestants
	pool               int
	profiles           []wanProfile
	shapes             []shape
	scenarios          []scenario
	held               int
	cpuProfile         string
	memProfile         string
}

// outputs are the files to write, and the one to read in place of measuring.
type outputs struct{ read, save, html, markdown, pictures string }

const (
	fullRounds, smokeRounds = 5, 3
	defaultCallers          = "1,8,64,512"
	smokeCallers            = "1,64,512"
	defaultTTL              = 8 * time.Second // redsync's own default; it gives each master a twentieth of it
	most                    = 4096            // callers: as many connections as a peer makes to each master
	fullHeld, smokeHeld     = 100_000, 3_000
)

// parse reads the command line. The error is flag.ErrHelp where help was asked for.
func parse(args []string, out io.Writer) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() { usage(out, f) }
	f.BoolVar(&s.smoke, "smoke", false, "a short run, to see that everything works; its figures mean little")
	f.BoolVar(&s.check, "check", false, "compare with the project's targets, exit with 1 and name what falls short; in a smoke run ratios only, with slack")
	compare := f.Bool("compare", false, "compare two runs: bench -compare OLD.json NEW.json; exits with 1 if something got slower by more than the noise")
	f.StringVar(&s.files.read, "read", "", "read a run from this JSON `file` in place of measuring one, to show, check or draw it")
	f.BoolVar(&s.json, "json", false, "write JSON, every round in it, in place of tables")
	f.StringVar(&s.files.save, "save", "", "write the JSON to this `file`, beside whatever else is written")
	f.StringVar(&s.files.html, "html", "", "write a report with pictures to this `file`")
	f.StringVar(&s.files.markdown, "markdown", "", "put the tables between <!-- bench:begin --> and <!-- bench:end --> in this `file`")
	f.StringVar(&s.files.pictures, "pictures", "", "write each picture as an SVG file to this `directory`")
	masters := f.String("masters", "", "`URLs` of masters to use, by commas, in place of starting some; they are not emptied, and no fault is done to them")
	f.BoolVar(&s.containers, "containers", false, "start the masters in containers, used by their own addresses, in place of processes")
	f.IntVar(&s.rounds, "rounds", 0, fmt.Sprintf("rounds of each part (default %d, smoke %d)", fullRounds, smokeRounds))
	f.DurationVar(&s.slice, "slice", 0, "how long a contestant runs in each round (default: what suits the part)")
	callers := f.String("callers", "", "latency: numbers of concurrent callers (default "+defaultCallers+", smoke "+smokeCallers+")")
	f.Float64Var(&s.rate, "rate", 0, "latency, faults: open loop, this many pairs a second of all callers together; latency counts from when a pair was due (default: closed loop)")
	f.DurationVar(&s.ttl, "ttl", defaultTTL, "TTL of every contestant's locks; masters may vote that long after their start")
	f.StringVar(&s.only, "contestants", "", "run only these, e.g. redlock,redsync")
	f.IntVar(&s.pool, "pool", 0, "PoolSize of the peers' go-redis clients, for each master (default as many as callers, so that none waits for a connection; go-redis' own default is 10 for each CPU)")
	profiles := f.String("profiles", "", "wan: which of "+strings.Join(profileNames(), ", ")+" (default all, smoke five-continents)")
	shapes := f.String("shapes", "", "contention: processes x goroutines (default "+defaultShapes+")")
	scenarios := f.String("scenarios", "", "faults: which of "+strings.Join(scenarioNames(), ", ")+" (default all, smoke frozen-2s)")
	f.IntVar(&s.held, "locks", 0, fmt.Sprintf("scale: how many locks are held (default %d, smoke %d)", fullHeld, smokeHeld))
	f.StringVar(&s.cpuProfile, "cpuprofile", "", "latency: write a CPU profile of what is measured to this `file`; with -contestants redlock it is redlock's alone")
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
	if err := s.settle(); err != nil {
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
	if s.scenarios, err = pickScenarios(s.choose(*scenarios, "", "frozen-2s")); err != nil {
		return nil, err
	}
	return s, s.known()
}

// parseAnywhere lets flags and words stand in any order.
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

// settle fills in what was left out and refuses what makes no sense.
func (s *settings) settle() error {
	if s.rounds == 0 {
		s.rounds = fullRounds
		if s.smoke {
			s.rounds = smokeRounds
		}
	}
	if s.held == 0 {
		s.held = fullHeld
		if s.smoke {
			s.held = smokeHeld
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
	case s.held < 0:
		return fmt.Errorf("-locks %d: at least 1", s.held)
	case s.rate < 0:
		return fmt.Errorf("-rate %v: above 0, in pairs a second", s.rate)
	case s.containers && len(s.masters) > 0:
		return errors.New("-containers and -masters: one of the two")
	case len(s.masters) > 1 && len(s.masters)%2 == 0:
		return fmt.Errorf("-masters: %d of them; one, or an odd number", len(s.masters))
	}
	return nil
}

// known makes sure that every name in -contestants belongs to somebody.
func (s *settings) known() error {
	everybody := slices.Concat(allContestants(), allKinds(), contenders())
	seen := map[string]bool{}
	everybody = slices.DeleteFunc(everybody, func(c *contestant) bool {
		twice := seen[c.Name]
		seen[c.Name] = true
		return twice
	})
	_, err := pick(everybody, s.only)
	return err
}

// sliceOf is how long a contestant runs in a round.
func (s *settings) sliceOf(full, smoke time.Duration) time.Duration {
	switch {
	case s.slice > 0:
		return s.slice
	case s.smoke:
		return smoke
	}
	return full
}

// roundsFor is how many rounds a part has at most whose rounds are long.
func (s *settings) roundsFor(full int) int {
	if s.smoke {
		return 1
	}
	return full
}

// rampOf is how long it runs before anything counts.
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
