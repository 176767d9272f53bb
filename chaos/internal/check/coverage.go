package check

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Coverage checks that the run tested something: every client held a lock, every name was held, locks were extended if
// [Terms.Extends] is true, and every planned fault was injected. Without it, a run whose clients cannot reach a master
// would pass every other check.
func Coverage(events []history.Event, t Terms) Verdict {
	v := on(events, ByCoverage)
	begin, ok := phase(events, history.Storm)
	end, ended := phase(events, history.Calm)
	if !ok || !ended {
		v.find("", nil, "there was no storm, or it never ended")
		return v
	}
	held := map[string]int{} // clients and names
	injected := map[string]int{}
	kinds := map[history.Kind]int{}
	for _, e := range events {
		if e.T < begin || e.T > end {
			continue
		}
		kinds[e.Kind]++
		switch e.Kind {
		case history.Acquired:
			held["client "+e.Client]++
			for _, n := range e.Locked() {
				held["name "+n]++
			}
		case history.Inject:
			injected[e.Fault]++
		default: // counted above
		}
	}
	for _, c := range t.Clients {
		if held["client "+c] == 0 {
			v.find("", nil, "%s never held anything during the storm", c)
		}
	}
	for _, n := range t.Names {
		if held["name "+n] == 0 {
			v.find(n, nil, "no client ever held %q during the storm", n)
		}
	}
	for _, f := range t.Planned {
		if injected[f] == 0 {
			v.find("", nil, "the fault %q was planned and never injected", f)
		}
	}
	if t.Extends && kinds[history.Extended] == 0 {
		v.find("", nil, "no lock was extended during the storm")
	}
	v.Looked = fmt.Sprintf("storm of %v: %d locks held, %d extended, %d lost, %d refused, %d faults",
		(end - begin).Round(100*time.Millisecond), kinds[history.Acquired], kinds[history.Extended], kinds[history.Lost],
		kinds[history.Refused], kinds[history.Inject])
	return v
}
