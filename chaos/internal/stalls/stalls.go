// Package stalls detects when a process did not run, or one processor did not run it: the process was frozen, or the
// machine was busy or did not run.
package stalls

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

const (
	tick = 5 * time.Millisecond
	// stalled is the shortest delay that is written. On a busy machine many short delays add up.
	stalled = 5 * time.Millisecond
)

// A detector writes the stalls of its process.
type detector struct {
	history *history.Writer
	client  string
	life    int
	over    chan struct{}
	all     sync.WaitGroup
	begun   sync.WaitGroup
}

// Detect writes the stalls of this process to its history, as [history.Stalled] and [history.Starved], from its return
// until stop is called. The client is "" if the process is the harness.
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

// begin runs a loop that calls begun when it has started.
func (d *detector) begin(watch func(begun func())) {
	d.begun.Add(1)
	d.all.Go(func() { watch(d.begun.Done) })
}

// process writes when the process did not run.
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
