package suite

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

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
	case simulated:
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
