// Package pulse notices when a process did not run, or a processor did not serve it: it was frozen, or the machine was busy, or away.
package stalls

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
type detector struct {
	history *history.Writer
	client  string
	life    int
	over    chan struct{}
	all     sync.WaitGroup
	begun   sync.WaitGroup
}

// Watch writes into a process's history when that does not run, as [history.Stalled] and [history.Starved], from its return until stop is
// called. The client is "" where the process is the harness.
func Detect(w *history.Writer, client string, life int) (stop func()) {
	d := &detector{history: w, client: client, life: life, over: make(chan struct{})}
	d.begin(d.process)
	d.processors()
	d.begun.Wait()
	return func() {
		close(d.over)
		d.all.Wait()
	}
}

// begin runs what watches and says when it has begun.
func (d *detector) begin(watch func(begun func())) {
	d.begun.Add(1)
	d.all.Go(func() { watch(d.begun.Done) })
}

// process writes down when the process did not run.
func (d *detector) process(begun func()) {
	clock := d.history.Clock()
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	last := clock.Now()
	begun()
	for {
		select {
		case <-ticks.C:
			now := clock.Now()
			if late := now - last - tick; late > stalled {
				d.history.Write(history.Event{T: now, Kind: history.Stalled, Client: d.client, Life: d.life, Stall: late})
			}
			last = now
		case <-d.over:
			return
		}
	}
}
