// Package check judges histories. Each checker is a pure function of the events: it asks no master and no clock, so
// that a history kept from a failed run gives the same verdict again, and a handmade one can show that the checker is
// able to say no.
package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Verdict is what one checker has to say about one history.
type Verdict struct {
	// Checker is its name.
	Checker string
	// Looked is what it looked at, in a few words, for the reader to see that it was not nothing.
	Looked string
	// Findings are what it found wrong; none means that what it checks held.
	Findings []Finding
	// Undecided says what it could not decide in the time it was given; "" if it decided everything.
	Undecided string
	// Figures are what it counted and does not judge.
	Figures []Figure

	begin time.Duration // of the history
}

// on begins a verdict on a history.
func on(events []history.Event, checker string) Verdict {
	v := Verdict{Checker: checker}
	if len(events) > 0 {
		v.begin = events[0].T
	}
	return v
}

// moment is a time on the clock of the history.
type moment time.Duration

func (m moment) String() string { return secs(time.Duration(m)) }

// Held reports whether everything was decided, and nothing found.
func (v Verdict) Held() bool { return len(v.Findings) == 0 && v.Undecided == "" }

// Figure is a number that a reader should know.
type Figure struct {
	What string
	N    int
}

// Finding is one thing that should not be.
type Finding struct {
	// Name is the lock's name, if it is about one.
	Name string
	// Text says what is wrong, in one line.
	Text string
	// Events prove it.
	Events []history.Event
}

// find adds a finding. Of its args, each moment is told as the time since the beginning of the history.
func (v *Verdict) find(name string, events []history.Event, format string, args ...any) {
	for i, a := range args {
		if at, ok := a.(moment); ok {
			args[i] = at - moment(v.begin)
		}
	}
	text := strings.Join(strings.FieldsFunc(fmt.Sprintf(format, args...), func(r rune) bool { return r == '\n' }), "; ")
	v.Findings = append(v.Findings, Finding{Name: name, Text: text, Events: events})
}

func who(id history.ID) string {
	return fmt.Sprintf("%s.%d/worker %d/op %d", id.Client, id.Life, id.Worker, id.Op)
}

func secs(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }

// phase returns when the first event of a phase was, and whether there is one.
func phase(events []history.Event, name string) (time.Duration, bool) {
	for _, e := range events {
		if e.Kind == history.Phase && e.Phase == name {
			return e.T, true
		}
	}
	return 0, false
}

// Clients finds the clients that failed: their process ended by itself once its traffic ran, as in a panic, or it never stopped, or
// never quit, as it does if a call of the lock never returns.
func Clients(events []history.Event) Verdict { return reported(events, "clients", history.Failed) }

// Broken finds what went wrong with the harness itself: no verdict of such a run is worth anything.
func Broken(events []history.Event) Verdict { return reported(events, "harness", history.Broken) }

// reported finds what events of that kind report.
func reported(events []history.Event, checker string, kind history.Kind) Verdict {
	v := on(events, checker)
	v.Looked = fmt.Sprintf("%d events", len(events))
	for _, e := range events {
		if e.Kind == kind {
			v.find("", []history.Event{e}, "%s", strings.TrimSpace(e.Err))
		}
	}
	return v
}
