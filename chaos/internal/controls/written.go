package controls

import (
	"context"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// written is a history, written by hand, of a run whose harness or client is broken.
type written struct {
	// without leaves events out of the sound history, and with adds one.
	without func(history.Event) bool
	with    history.Event
}

func (written) set() int { return histories }

func (w written) try(_ context.Context, _ Options, c Control) (Result, error) {
	return c.of(w.judge(c.Checker), "history: chaos/internal/controls/table.go"), nil
}

// judge returns the verdict of a checker.
func (w written) judge(checker string) check.Verdict {
	events := sound()
	if w.without != nil {
		events = slices.DeleteFunc(events, w.without)
	}
	if w.with.Kind != "" {
		events = append(events, w.with)
		history.Sort(events)
	}
	by, _ := check.Lookup(checker)
	return by.Judge(events, check.Terms{
		Clients: []string{"c0", "c1"}, Names: []string{"a"}, Planned: []string{"kill-master"}, Masters: 1,
	})
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
		[]history.Event{
			{T: settledAt, Kind: history.Phase, Phase: history.Settled}, {T: settledAt + time.Second, Kind: history.Keys},
		},
	)
}
