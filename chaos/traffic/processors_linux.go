package traffic

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/chaos/history"
)

const (
	// processorTick is how often each processor is tried, by a thread of its own in every client: seldom, as that costs something.
	processorTick = 20 * time.Millisecond
	// away is from which delay on a processor counts as one that was away. Threads wait for a busy one, too, but not for as long, and
	// what is on it goes on.
	away = 50 * time.Millisecond
)

// watchProcessors writes down when a processor served no thread of this process, until over is closed. The other processors may
// have gone on meanwhile, and with them most of the process; but not what was running on that one, as in a virtual machine whose host
// has taken a processor away in the midst of it.
func (c *client) watchProcessors(over <-chan struct{}, watching *sync.WaitGroup) {
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		return // then nothing is excused
	}
	for cpu, left := 0, mine.Count(); left > 0; cpu++ {
		if mine.IsSet(cpu) {
			left--
			watching.Go(func() { c.watchProcessor(cpu, over) })
		}
	}
}

func (c *client) watchProcessor(cpu int, over <-chan struct{}) {
	runtime.LockOSThread() // and never let go: the thread ends with the goroutine
	var only unix.CPUSet
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return
	}
	tick := unix.NsecToTimespec(processorTick.Nanoseconds())
	for last := c.clock.Now(); ; {
		_ = unix.Nanosleep(&tick, nil) // a signal makes it short
		now := c.clock.Now()
		select {
		case <-over:
			return
		default:
		}
		if late := now - last - processorTick; late > away {
			c.history.Write(history.Event{
				T: now, Kind: history.Starved, Client: c.config.Client, Life: c.config.Life, Processor: cpu, Stall: late,
			})
		}
		last = now
	}
}
