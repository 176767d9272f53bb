package traffic

import (
	"time"

	"github.com/redlock-go/redlock/chaos/history"
)

const (
	stallTick = 5 * time.Millisecond
	// stalled is from which delay on a process counts as one that did not run. On a busy machine many short ones add up.
	stalled = 5 * time.Millisecond
)

// watchStalls writes down when the process did not run, until over is closed: it was frozen, or the machine was busy.
func (c *client) watchStalls(over <-chan struct{}) {
	last := c.clock.Now()
	tick := time.NewTicker(stallTick)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			now := c.clock.Now()
			if late := now - last - stallTick; late > stalled {
				c.history.Write(history.Event{
					T: now, Kind: history.Stalled, Client: c.config.Client, Life: c.config.Life, Stall: late,
				})
			}
			last = now
		case <-over:
			return
		}
	}
}
