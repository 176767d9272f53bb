package suite

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/controls"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

// Default numbers of schedules.
const (
	manySchedules = 1000 // of the simulation's own
	someSchedules = 100  // of one scenario, which take longer
	allSchedules  = 700  // of a run of everything
)

// flags are the settings of the command line.
type flags struct {
	scenarios   []scenarios.Scenario
	backend     string
	seed        uint64
	duration    time.Duration
	clients     int
	parallelism int
	schedules   int
	out         string
	masters     []string // of the user's
	controls    []string // patterns of their names
	exact       bool
	order       uint64 // of an exact run, the first one
	orders      int
	schedule    string   // a file
	lock        string   // a broken lock
	tests       []string // packages
	run         string
	set         *flag.FlagSet
}

func parse(args []string, stderr io.Writer) (f flags, err error) {
	var names, masters, locks, tests string
	set := flag.NewFlagSet("chaos", flag.ContinueOnError)
	set.SetOutput(io.Discard) // Parse returns what it prints
	set.Usage = func() {}
	set.StringVar(&names, "scenario", "", "play only these, e.g. mutexes,only-clock-* (default: all, and the controls)")
	set.StringVar(&f.backend, "backend", "", "where the masters come from: "+strings.Join(backend.Names(), ", ")+
		"; simulation plays scenarios, or schedules of its own, in virtual time (default: containers)")
	set.StringVar(&locks, "control", "", "try only these controls, e.g. 'no *' ('*': all)")
	set.StringVar(&masters, "masters", "",
		"play the acceptance test on your own masters, which are not harmed: their URLs, separated by commas")
	set.Uint64Var(&f.seed, "seed", 0, "repeats the faults of a run (default: a new one)")
	set.DurationVar(&f.duration, "duration", 0, "how long each storm lasts (default: as each scenario says)")
	set.IntVar(&f.clients, "clients", 0, "how many client processes use the lock (default: as each scenario says)")
	set.IntVar(&f.parallelism, "lanes", 1, "how many scenarios are played at a time")
	set.IntVar(&f.schedules, "schedules", 0, fmt.Sprintf("how many schedules are simulated, of this seed and those that "+
		"follow (default: %d, and of each scenario that is named %d)", manySchedules, someSchedules))
	set.BoolVar(&f.exact, "exact", false, "the same as -backend simulation: play schedules in virtual time, in which a "+
		"seed and an order repeat everything")
	set.Uint64Var(&f.order, "order", 1, "the order of an exact run or of controls, or the first one; "+
		"without -schedules only the schedule of the seed is played")
	set.IntVar(&f.orders, "orders", 1, "in how many orders each schedule is played exactly, from -order on")
	set.StringVar(&f.schedule, "schedule", "", "play the schedule in this file exactly, for example the smallest one "+
		"of a finding")
	set.StringVar(&tests, "tests", "", "run those Go tests of these packages exactly that run in virtual time, each in "+
		"several -orders")
	set.StringVar(&f.run, "run", "", "of -tests, run only those whose names match this")
	set.StringVar(&f.lock, "lock", "", "in exact runs, use this broken lock instead of ours")
	set.StringVar(&f.out, "out", "", "folder for the reports, empty or new (default: one below chaos-report)")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(set, stderr)
		}
		return f, err
	}
	if set.NArg() > 0 {
		return f, fmt.Errorf("unexpected argument %q: there are only flags, see -h", set.Arg(0))
	}
	f.tests = split(tests)
	f.exact = f.exact || f.schedule != "" || len(f.tests) > 0 || f.backend == scenarios.Simulation
	f.masters, f.controls, f.set = split(masters), split(locks), set
	return f, f.complete(names)
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func (f *flags) complete(names string) error {
	if f.seed == 0 {
		f.seed = rand.Uint64N(1_000_000_000) + 1
	}
	var errs []error
	refuse := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	for _, name := range split(names) {
		found, err := scenarios.Find(name)
		errs = append(errs, err)
		for _, s := range found {
			f.scenarios = append(f.scenarios, f.adjust(s))
		}
	}
	refuse(!slices.Contains(append(backend.Names(), "", scenarios.Simulation), f.backend),
		"no backend is called %q: there are %q", f.backend, backend.Names())
	others := f.backend != "" || len(f.scenarios) > 0
	refuse(len(f.masters) > 0 && others,
		"on masters of yours the acceptance test is played, and that alone: leave -backend and -scenario out")
	refuse(len(f.controls) > 0 && (others || len(f.masters) > 0),
		"controls bring their own masters and traffic: leave -backend, -scenario and -masters out")
	for _, pattern := range f.controls {
		refuse(len(controls.Find(pattern)) == 0, "no control is called %q: -h lists them", pattern)
	}
	set := func(name string) (is bool) {
		f.set.Visit(func(one *flag.Flag) { is = is || one.Name == name })
		return is
	}
	refuse(!f.exact && (set("orders") || f.lock != ""), "-orders and -lock belong to -exact")
	refuse(!f.exact && len(f.controls) == 0 && set("order"), "-order belongs to -exact and -control")
	refuse(f.exact && (len(f.masters)+len(f.controls) > 0 || f.backend != "" && f.backend != scenarios.Simulation),
		"exact runs are simulated: leave -masters, -control and other backends out")
	_, err := broken.Find(f.lock)
	errs = append(errs, err)
	if f.schedules == 0 {
		f.schedules = manySchedules
		switch {
		case set("order") || set("orders") || f.schedule != "":
			f.schedules = 1
		case len(f.scenarios) > 0:
			f.schedules = someSchedules
		case f.everything():
			f.schedules = allSchedules
		}
	}
	refuse(f.order < 1, "order %d: the first one is 1", f.order)
	refuse(f.orders < 1, "orders %d: it takes at least one", f.orders)
	refuse(f.parallelism < 1, "lanes %d: it takes at least one", f.parallelism)
	refuse(f.schedules < 1, "schedules %d: it takes at least one", f.schedules)
	refuse(f.duration != 0 && f.duration < scenarios.LeastStorm,
		"duration %v: a storm takes at least %v", f.duration, scenarios.LeastStorm)
	refuse(f.clients != 0 && f.clients < scenarios.LeastClients,
		"clients %d: it takes at least %d to contend", f.clients, scenarios.LeastClients)
	return errors.Join(errs...)
}

// everything reports whether the command line names no part of the run.
func (f *flags) everything() bool {
	return !f.exact && len(f.scenarios)+len(f.masters)+len(f.controls) == 0
}

// adjust returns the scenario with the duration and the number of clients that the command line gives.
func (f *flags) adjust(s scenarios.Scenario) scenarios.Scenario {
	s.Storm = cmp.Or(f.duration, s.Storm)
	s.Clients = cmp.Or(f.clients, s.Clients)
	s.Lock = f.lock
	return s
}

func usage(set *flag.FlagSet, w io.Writer) {
	fmt.Fprint(w, `Usage: go run ./chaos [flags]

Harms masters and clients, and checks what the lock promises. Without flags it runs everything. See chaos/README.md. The
exit status is 0 if every promise held and every control was caught, 1 if not, and 2 if there is no verdict.

With -masters the masters are not harmed: nothing is flushed, configured, killed or slowed. All names begin with
`+backend.PrefixBegin+` or redlock:doctor:, and no other keys are changed. Pass one URL, or an odd number of them; a URL
may have a user, a password, rediss:// for TLS, and a database.

`)
	set.SetOutput(w)
	set.PrintDefaults()
	fmt.Fprintln(w, "\nScenarios:")
	for _, s := range scenarios.All() {
		fmt.Fprintf(w, "  %-30s %s\n", s.Name, s.About)
	}
	accept := scenarios.Acceptance()
	fmt.Fprintf(w, "  %-30s %s; only with -masters\n", accept.Name, accept.About)
	fmt.Fprintln(w, "\nFaults:")
	for _, t := range faults.Catalog() {
		text := t.About
		if t.Breaks != "" {
			text += "; breaks: " + t.Breaks
		}
		fmt.Fprintf(w, "  %-30s %s\n", t.Name, text)
	}
	var checkers []string
	for _, c := range check.Catalog() {
		checkers = append(checkers, c.Name)
	}
	fmt.Fprintln(w, "\nCheckers: "+strings.Join(checkers, ", "))
	fmt.Fprintln(w, "\nControls, which a checker must catch:")
	for _, s := range controls.Find("*") {
		for _, c := range s.Controls {
			fmt.Fprintf(w, "  %-38s %-16s %s\n", c.Lock, c.Checker, s.Title)
		}
	}
}

// again returns a command without passwords. It has its own flags, those of the command line that say how something is
// played, and the seed. Without own flags it has all flags of the command line, except the folder.
func (f *flags) again(seed uint64, own ...string) string {
	words := append([]string{"go run ./chaos"}, own...)
	f.set.Visit(func(one *flag.Flag) {
		name := one.Name
		switch {
		case len(own) > 0 && !slices.Contains([]string{"duration", "clients", "lock"}, name), name == "out", name == "seed":
		case name == "masters":
			words = append(words, f.shownMasters()...)
		case name == "exact":
			words = append(words, "-exact")
		default:
			words = append(words, "-"+name, quote(one.Value.String()))
		}
	})
	return fmt.Sprintf("%s -seed %d", strings.Join(words, " "), seed)
}

// replayJob returns the command that plays one job of a suite with that seed.
func (f *flags) replayJob(j scenarios.Job, seed uint64) string {
	own := []string{"-scenario", j.Scenario.Name, "-backend", j.Backend}
	switch j.Backend {
	case backend.Given:
		own = f.shownMasters()
	case scenarios.Simulation:
		own = append(own, fmt.Sprintf("-schedules %d -order %d -orders %d", j.Schedules, f.order, f.orders))
	}
	return f.again(seed, own...)
}

// replaySchedule returns the command that plays one schedule of a scenario, or of the simulation for "".
func (f *flags) replaySchedule(scenario string, seed, order uint64) string {
	own := []string{"-exact", "-order", fmt.Sprint(order)}
	if scenario != "" {
		own = append(own, "-scenario", scenario)
	}
	return f.again(seed, own...)
}

func (f *flags) shownMasters() []string {
	shown := make([]string, len(f.masters))
	for i, u := range f.masters {
		shown[i] = backend.WithoutPassword(u)
	}
	return []string{"-masters", quote(strings.Join(shown, ","))}
}

// quote returns s as one word of a shell command.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:@=+%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
