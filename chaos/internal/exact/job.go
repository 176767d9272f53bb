package exact

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// A Job is one schedule, played by one lock in one order.
type Job struct {
	Schedule simulation.Schedule
	// Lock is the name of a broken lock of package broken. "" is the lock under test.
	Lock string `json:",omitempty"`
	// Order decides who goes first where several goroutines are ready, and everything else that a run of the schedule
	// leaves to chance. In order 0 goroutines run in the order in which they become ready.
	Order uint64
	// Whole asks for the history and the commands of the masters, too.
	Whole bool `json:",omitempty"`
}

// An Outcome is what a job showed.
type Outcome struct {
	// Result is the result. It lacks the history and the commands unless the job asks for them, and then or if something
	// was found its Text is the report.
	Result simulation.Result
	// Hash identifies everything that happened: every event of the history, every command that a master executed with
	// its time and its reply, and every finding.
	Hash string
}

// Play plays the job in this process. It is exact only where the host of a guest calls it.
func (j Job) Play() (Outcome, error) {
	redis.SetLogger(silent{})
	open := simulation.Product()
	if j.Lock != "" {
		lock, ok := broken.Find(j.Lock)
		if !ok {
			return Outcome{}, fmt.Errorf("no broken lock is called %q", j.Lock)
		}
		open = simulation.Broken(lock)
	}
	r := simulation.InBubble(j.Schedule, open)
	out := Outcome{Result: *r, Hash: r.Hash()}
	if !r.OK() || j.Whole {
		out.Result.Text = r.Report()
	}
	if !j.Whole {
		out.Result.Events, out.Result.Executed, out.Result.Labels = nil, nil, nil
	}
	return out, nil
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
