package main

import (
	"flag"
	"fmt"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
)

// again is the command that runs the same once more, with the seed, without passwords.
func (f *flags) again() string {
	var b strings.Builder
	b.WriteString("go run ./chaos")
	f.set.Visit(func(one *flag.Flag) {
		switch one.Name {
		case "out", "seed":
		case "masters":
			b.WriteString(f.againMasters())
		default:
			fmt.Fprintf(&b, " -%s %s", one.Name, quote(one.Value.String()))
		}
	})
	fmt.Fprintf(&b, " -seed %d", f.seed)
	return b.String()
}

// againOne is the command that plays a job of a suite with that seed alone.
func (f *flags) againOne(j scenarios.Job, seed uint64) string {
	var b strings.Builder
	b.WriteString("go run ./chaos")
	if j.Backend == backend.Given {
		b.WriteString(f.againMasters())
	} else {
		fmt.Fprintf(&b, " -scenario %s -backend %s", j.Scenario.Name, j.Backend)
	}
	f.set.Visit(func(one *flag.Flag) {
		if one.Name == "duration" || one.Name == "clients" {
			fmt.Fprintf(&b, " -%s %s", one.Name, one.Value)
		}
	})
	if j.Backend == simulated {
		fmt.Fprintf(&b, " -schedules %d", j.Schedules)
	}
	fmt.Fprintf(&b, " -seed %d", seed)
	return b.String()
}

// againControl is the command that tries a control once more.
func (f *flags) againControl(name string) string {
	return fmt.Sprintf("go run ./chaos -control %s -seed %d", quote(name), f.seed)
}

func (f *flags) againMasters() string {
	shown := make([]string, len(f.masters))
	for i, u := range f.masters {
		shown[i] = backend.WithoutPassword(u)
	}
	return " -masters " + quote(strings.Join(shown, ","))
}

// quote makes a word for a shell.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./,:@=+%") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
