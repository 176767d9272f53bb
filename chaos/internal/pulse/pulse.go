// Package pulse notices when a process did not run, or a processor did not serve it: it was frozen, or the machine was busy, or away.
package pulse

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

const (
	tick = 5 * time.Millisecond
	// stalled is from which delay on a process counts as one that did not run. On a busy machine many short ones add up.
	stalled = 5 * time.Millisecond
)

// watch is of one process, which writes down what it notices.
type watch struct {
	history *history.Writer
	client  string
	life    int
	over    chan struct{}
	all     sync.WaitGroup
	begun   sync.WaitGroup
}

// Watch writes into a process's history when that does not run, as [history.Stalled] and [history.Starved], from its return until stop is
// called. The client is "" where the process is the harness.
func Watch(w *history.Writer, client string, life int) (stop func()) {
	x := &watch{history: w, client: client, life: life, over: make(chan struct{})}
	x.begin(x.process)
	x.processors()
	x.begun.Wait()
	return func() {
		close(x.over)
		x.all.Wait()
	}
}

// begin runs what watches and says when it has begun.
func (x *watch) begin(watch func(begun func())) {
	x.begun.Add(1)
	x.all.Go(func() { watch(x.begun.Done) })
}

// process writes down when the process did not run.
func (x *watch) process(begun func()) {
	clock := x.history.Clock()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	last := clock.Now()
	begun()
	for {
		select {
		case <-ticks.C:
			now := clock.Now()
			if late := now - last - tick; late > stalled {
				x.history.Write(history.Event{T: now, Kind: history.Stalled, Client: x.client, Life: x.life, Stall: late})
			}
			last = now
		case <-x.over:
			return
		}
	}
}
