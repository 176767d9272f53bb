package exact

import (
	"encoding/json"

	"github.com/redis/go-redis/v9/logging"

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
	// Whole asks for the history and the report, too. It is an argument of its own, because the run must not depend on
	// it: a byte more at its beginning changes when the runtime collects garbage, and so who goes first.
	Whole bool `json:"-"`
}

// The second argument of the guest. Both have the same length.
const (
	whole = "whole"
	brief = "brief"
)

// args returns the arguments of the guest.
func (j Job) args() ([]string, error) {
	text, err := json.Marshal(j)
	extent := brief
	if j.Whole {
		extent = whole
	}
	return []string{"guest", string(text), extent}, err
}

// Parse returns the job of the guest with these arguments.
func Parse(args []string) (j Job, err error) {
	err = json.Unmarshal([]byte(args[1]), &j)
	j.Whole = args[2] == whole
	return j, err
}

// Play plays the job in this process. It is exact only where the host of a guest calls it. The result lacks the history
// unless the job asks for it. Then, or if something was found, its Text is the report.
func (j Job) Play() (*simulation.Result, error) {
	logging.Disable()
	lock, err := broken.Find(j.Lock)
	if err != nil {
		return nil, err
	}
	r := simulation.InBubble(j.Schedule, simulation.Product(lock))
	r.Hash = r.Sum()
	if !r.OK() || j.Whole {
		r.Text = r.Report()
	}
	if !j.Whole {
		r.Events = nil
	}
	return r, nil
}
