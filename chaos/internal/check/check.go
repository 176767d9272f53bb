// Package check judges histories. Each checker is a pure function of the events. It asks no master and no clock, so
// a history kept from a failed run gives the same verdict again, and a handmade history can show that the checker is
// able to fail.
package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Verdict is the result of one checker on one history.
type Verdict struct {
	Checker string
	// Looked summarizes what it examined: a check of nothing also finds nothing.
	Looked   string
	Findings []Finding

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

// Held reports whether the checker found nothing.
func (v Verdict) Held() bool { return len(v.Findings) == 0 }

// Finding is one violation.
type Finding struct {
	// Name is the name of the lock, or "" if the finding is not about one.
	Name string
	// Text says what is wrong, in one line.
	Text string
	// Events prove it.
	Events []history.Event
}

// find adds a finding. Of its args, each moment is printed as the time since the beginning of the history.
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

// Clients finds the clients that failed. The process of such a client ended on its own while its traffic ran (as in a
// panic), or it did not stop or quit when the harness asked (as when a call of the lock never returns).
func Clients(events []history.Event) Verdict { return reported(events, ByClients, history.Failed) }

// Broken finds failures of the harness itself. No verdict of such a run can be relied on.
func Broken(events []history.Event) Verdict { return reported(events, ByHarness, history.Broken) }

// reported makes a finding of each event of the given kind.
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
