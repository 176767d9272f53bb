// Package stalls detects when a process did not run, because it was frozen or the machine was busy.
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

// Detect writes the stalls of this process to its history, as [history.Stalled], from its return until stop is called.
func Detect(w *history.Writer, client string, life int) (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	last := w.Clock().Now()
	running.Go(func() {
		ticks := time.NewTicker(tick)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				now := w.Clock().Now()
				if late := now - last - tick; late > stalled {
					w.Write(history.Event{T: now, Kind: history.Stalled, Client: client, Life: life, Stall: late})
				}
				last = now
			case <-over:
				return
			}
		}
	})
	return func() {
		close(over)
		running.Wait()
	}
}
