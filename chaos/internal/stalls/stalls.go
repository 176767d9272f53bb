// Package stalls detects when a process did not run, because it was frozen or the machine was busy.
package stalls

import (
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
)

const (
	tick = 5 * time.Millisecond
	// stalled is the shortest delay that is written. On a busy machine many short delays add up.
	stalled = 5 * time.Millisecond
)

// Detect writes the stalls of this process to its history, as [history.Stalled], from its return until stop is called.
func Detect(w *history.Writer, client string, life int) (stop func()) {
	return Watch(w.Clock(), stalled, func(end, stall time.Duration) {
		w.Write(history.Event{T: end, Kind: history.Stalled, Client: client, Life: life, Stall: stall})
	})
}

// Watch calls found for every stall of this process that is longer than atLeast, with the stall's end and length, until
// stop is called. It calls found from a goroutine of its own.
func Watch(c history.Clock, atLeast time.Duration, found func(end, stall time.Duration)) (stop func()) {
	over := make(chan struct{})
	var running sync.WaitGroup
	last := c.Now()
	running.Go(func() {
		repeat.Every(tick, over, func() {
			now := c.Now()
			if late := now - last - tick; late > atLeast {
				found(now, late)
			}
			last = now
		})
	})
	return func() {
		close(over)
		running.Wait()
	}
}
