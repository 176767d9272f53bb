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
	smoke, check, json bool
	latency            bool // which parts run
	kinds, frozen      bool
	latencyPlan        latencyPlan
	kindsPlan          latencyPlan
	frozenPlan         frozenPlan
	ttl                time.Duration
	contestants        []*contestant
	pool               int // 0: as many as callers
	cpuProfile         string
	memProfile         string
}

// defaults of a full run and of a smoke run: about three minutes, and about half a minute with the masters' start.
const (
	fullRounds, smokeRounds = 7, 3
	fullSlice, smokeSlice   = time.Second, 120 * time.Millisecond
	fullRamp, smokeRamp     = 200 * time.Millisecond, 60 * time.Millisecond
	kindRounds, smokeKinds  = 5, 2
	kindSlice, smokeKind    = 300 * time.Millisecond, 60 * time.Millisecond
	fullCycles, smokeCycles = 3, 1
	fullFrozen, smokeFrozen = 3 * time.Second, 1500 * time.Millisecond
	defaultCallers          = "1,64,512"
	defaultTTL              = 8 * time.Second // redsync's own default; it gives each master a twentieth of it
	most                    = 4096            // callers: as many connections as a peer makes to each master
)

const usage = `usage: go run ./bench [flags]

Compares redlock over five masters and over one with redsync and bsm/redislock, side by side in one run, on masters that
it starts for itself (redis-server must be installed), and the kinds of locks with each other. Without -latency, -kinds or
-frozen all parts run.

`

// parse reads the command line. The error is flag.ErrHelp where help was asked for.
func parse(args []string, out io.Writer) (*settings, error) {
	s := &settings{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(out)
	f.Usage = func() {
		fmt.Fprint(out, usage)
		f.PrintDefaults()
	}
	f.BoolVar(&s.latency, "latency", false, "run this part: lock + unlock of every contestant, for each number of callers")
	f.BoolVar(&s.kinds, "kinds", false, "run this part: every kind of lock, and fencing, against the plain mutex")
	f.BoolVar(&s.frozen, "frozen", false, "run this part: redlock with one of five masters frozen")
	f.BoolVar(&s.smoke, "smoke", false, "a short run, to see that everything works; its figures mean little")
	f.BoolVar(&s.check, "check", false, "compare with the project's targets (with slack in a smoke run), exit with 1 if one is missed")
	f.BoolVar(&s.json, "json", false, "write JSON, every round in it, in place of tables")
	f.IntVar(&s.latencyPlan.rounds, "rounds", 0, fmt.Sprintf("rounds of the latency part (default %d, smoke %d)", fullRounds, smokeRounds))
	f.DurationVar(&s.latencyPlan.slice, "slice", 0, fmt.Sprintf("how long a contestant runs in each round (default %v, smoke %v)", fullSlice, smokeSlice))
	f.DurationVar(&s.ttl, "ttl", defaultTTL, "TTL of every contestant's locks in the latency part; the masters may vote that long after their start")
	callers := f.String("callers", defaultCallers, "numbers of concurrent callers in the latency part")
	picked := f.String("contestants", "", "run only these, e.g. redlock,redsync")
	f.IntVar(&s.pool, "pool", 0, "PoolSize of the peers' go-redis clients, for each master (default as many as callers, so that none waits for a connection; go-redis' own default is 10 for each CPU)")
	f.StringVar(&s.cpuProfile, "cpuprofile", "", "write a CPU profile of what is measured to this `file`; with -contestants redlock it is redlock's alone")
	f.StringVar(&s.memProfile, "memprofile", "", "write a profile of all allocations to this `file`")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("%q is not a flag; see -h", f.Arg(0))
	}
	return s, s.settle(*callers, *picked)
}

// settle fills in what was left out and refuses what makes no sense.
func (s *settings) settle(callers, picked string) (err error) {
	choose := func(full, smoke time.Duration) time.Duration {
		if s.smoke {
			return smoke
		}
		return full
	}
	l, z := &s.latencyPlan, &s.frozenPlan
	l.ramp, z.ramp = choose(fullRamp, smokeRamp), choose(fullRamp, smokeRamp)
	s.kindsPlan = latencyPlan{rounds: kindRounds, callers: []int{1, 64}, slice: choose(kindSlice, smokeKind), ramp: l.ramp}
	z.window, z.cycles = choose(fullFrozen, smokeFrozen), fullCycles
	rounds := fullRounds
	if s.smoke {
		z.cycles, rounds, s.kindsPlan.rounds = smokeCycles, smokeRounds, smokeKinds
	}
	if l.rounds == 0 {
		l.rounds = rounds
	}
	if l.slice == 0 {
		l.slice = choose(fullSlice, smokeSlice)
	}
	if !s.latency && !s.kinds && !s.frozen {
		s.latency, s.kinds, s.frozen = true, true, true
	}
	switch {
	case l.rounds < 0:
		return fmt.Errorf("-rounds %d: at least 1", l.rounds)
	case l.slice < time.Millisecond:
		return fmt.Errorf("-slice %v: at least 1ms", l.slice)
	case s.ttl < time.Second:
		return fmt.Errorf("-ttl %v: at least 1s, or a busy machine loses locks to their TTL", s.ttl)
	case s.pool < 0:
		return fmt.Errorf("-pool %d: at least 1", s.pool)
	case s.check && !(s.latency && s.frozen):
		return errors.New("-check needs the latency part and the frozen one: leave -latency, -kinds and -frozen out")
	}
	if l.callers, err = numbers(callers); err != nil {
		return err
	}
	if s.pool == 0 {
		s.pool = slices.Max(l.callers)
	}
	s.contestants, err = pick(allContestants(), picked)
	return err
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
