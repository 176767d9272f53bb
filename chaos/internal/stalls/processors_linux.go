package stalls

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

const (
	// processorTick is the interval at which a thread of its own tests each processor. It is long, because it costs CPU
	// time.
	processorTick = 20 * time.Millisecond
	// away is the shortest delay of a processor that is written. Threads also wait for a busy processor, but not as long.
	away = 50 * time.Millisecond
)

// processors writes when a processor ran no thread of this process. Most of the process may have run on other
// processors meanwhile, but not the thread that was on this one, for example in a virtual machine whose host takes a
// processor away.
func (d *detector) processors() {
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		return // no stall of a processor excuses anything then
	}
	for cpu, left := 0, mine.Count(); left > 0; cpu++ {
		if mine.IsSet(cpu) {
			left--
			d.begin(func(begun func()) { d.processor(cpu, begun) })
		}
	}
}

func (d *detector) processor(cpu int, begun func()) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	var only unix.CPUSet
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		begun()
		return
	}
	clock, tick := d.history.Clock(), unix.NsecToTimespec(processorTick.Nanoseconds())
	last := clock.Now()
	begun()
	for {
		_ = unix.Nanosleep(&tick, nil) // a signal makes it short
		now := clock.Now()
		select {
		case <-d.over:
			return
		default:
		}
		if late := now - last - processorTick; late > away {
			d.history.Write(
				history.Event{T: now, Kind: history.Starved, Client: d.client, Life: d.life, Processor: cpu, Stall: late},
			)
		}
		last = now
	}
}
