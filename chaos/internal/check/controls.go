package check

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// A Control is a history, written by hand, of a run whose harness or client is broken, and the checker that must find
// that. The controls of the other checkers are broken locks.
type Control struct {
	Name, Checker string
	// without leaves events out of the sound history, and with adds one.
	without func(history.Event) bool
	with    history.Event
}

// Controls returns the controls of the checkers that do not judge the lock.
func Controls() []Control {
	return []Control{
		{Name: "fault never injected", Checker: ByCoverage, without: func(e history.Event) bool {
			return e.Kind == history.Inject
		}},
		{Name: "client idle until the calm", Checker: ByCoverage, without: func(e history.Event) bool {
			return e.Client == "c1" && e.T < calmAt
		}},
		{Name: "acquisition written twice", Checker: ByWellFormed, with: history.Event{
			T: 2 * time.Second, Kind: history.Acquired, Client: "c0", Op: 1, Name: "a", Until: 9 * time.Second,
		}},
		{Name: "unlock without acquisition", Checker: ByWellFormed, with: history.Event{
			T: 4 * time.Second, Kind: history.ReleaseCalled, Client: "c0", Op: 2, Name: "a",
		}},
		{Name: "unlock without its call", Checker: ByWellFormed, without: func(e history.Event) bool {
			return e.Kind == history.ReleaseCalled && e.Client == "c0"
		}},
		{Name: "client that ends by itself", Checker: ByClients, with: history.Event{
			T: 4 * time.Second, Kind: history.Failed, Client: "c0", Err: "client c0.0 ended by itself",
		}},
		{Name: "client that does not quit", Checker: ByClients, with: history.Event{
			T: settledAt + time.Second, Kind: history.Failed, Client: "c0", Err: "client c0.0 did not end",
		}},
		{Name: "master that stays away", Checker: ByHarness, with: history.Event{
			T: 4 * time.Second, Kind: history.Broken, Err: "master 0 does not answer",
		}},
		{Name: "register that hangs up", Checker: ByHarness, with: history.Event{
			T: 4 * time.Second, Kind: history.Broken, Client: "c0", Op: 1, Name: "a", Err: "register: it hung up",
		}},
	}
}

// Catch returns the verdict of the control's checker.
func (c Control) Catch() Verdict {
	events := sound()
	if c.without != nil {
		events = slices.DeleteFunc(events, c.without)
	}
	if c.with.Kind != "" {
		events = append(events, c.with)
		history.Sort(events)
	}
	return judgeControl(c.Checker, events)
}

func judgeControl(checker string, events []history.Event) Verdict {
	by, _ := Lookup(checker)
	return by.Judge(events, Terms{Clients: []string{"c0", "c1"}, Names: []string{"a"}, Planned: []string{"kill-master"}})
}

const calmAt, settledAt = 10 * time.Second, 20 * time.Second

// sound is the history of a run in which nothing is broken.
func sound() []history.Event {
	held := func(at time.Duration, client string, op int) []history.Event {
		event := func(after time.Duration, kind history.Kind) history.Event {
			return history.Event{T: at + after, Kind: kind, Client: client, Op: op, Name: "a"}
		}
		acquired := event(0, history.Acquired)
		acquired.Until = at + 3*time.Second
		return []history.Event{
			event(-time.Millisecond, history.Invoked), acquired,
			event(time.Second, history.ReleaseCalled), event(time.Second+time.Millisecond, history.Released),
		}
	}
	return slices.Concat(
		[]history.Event{
			{Kind: history.Phase, Phase: history.Storm},
			{T: time.Second, Kind: history.Inject, Fault: "kill-master", On: "masters", Targets: []int{0}},
		},
		held(2*time.Second, "c0", 1), held(5*time.Second, "c1", 1),
		[]history.Event{{T: calmAt, Kind: history.Phase, Phase: history.Calm}}, held(calmAt+time.Second, "c1", 2),
		[]history.Event{{T: settledAt, Kind: history.Phase, Phase: history.Settled}},
	)
}
