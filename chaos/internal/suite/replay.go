package suite

import (
	"flag"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

// replay returns the command that repeats the run, with its seed and without passwords.
func (f *flags) replay() string {
	var b strings.Builder
	b.WriteString("go run ./chaos")
	f.set.Visit(func(one *flag.Flag) {
		switch one.Name {
		case "out", "seed":
		case "masters":
			b.WriteString(f.replayMasters())
		case "exact":
			b.WriteString(" -exact")
		default:
			fmt.Fprintf(&b, " -%s %s", one.Name, quote(one.Value.String()))
		}
	})
	fmt.Fprintf(&b, " -seed %d", f.seed)
	return b.String()
}

// replayJob returns the command that plays one job of a suite with that seed.
func (f *flags) replayJob(j scenarios.Job, seed uint64) string {
	var b strings.Builder
	b.WriteString("go run ./chaos")
	if j.Backend == backend.Given {
		b.WriteString(f.replayMasters())
	} else {
		fmt.Fprintf(&b, " -scenario %s -backend %s", j.Scenario.Name, j.Backend)
	}
	f.set.Visit(func(one *flag.Flag) {
		if one.Name == "duration" || one.Name == "clients" {
			fmt.Fprintf(&b, " -%s %s", one.Name, one.Value)
		}
	})
	if j.Backend == simulated {
		fmt.Fprintf(&b, " -schedules %d -order %d -orders %d", j.Schedules, f.order, f.orders)
	}
	fmt.Fprintf(&b, " -seed %d", seed)
	return b.String()
}

// replayLock returns the flag that names the broken lock, if there is one.
func (f *flags) replayLock() string {
	if f.lock == "" {
		return ""
	}
	return " -lock " + quote(f.lock)
}

// replayControl returns the command that repeats one control.
func (f *flags) replayControl(name string) string {
	return fmt.Sprintf("go run ./chaos -control %s -seed %d", quote(name), f.seed)
}

func (f *flags) replayMasters() string {
	shown := make([]string, len(f.masters))
	for i, u := range f.masters {
		shown[i] = backend.WithoutPassword(u)
	}
	return " -masters " + quote(strings.Join(shown, ","))
}

// quote returns s as one word of a shell command.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:@=+%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
