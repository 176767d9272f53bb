package stalls

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

const (
	// processorTick is how often each processor is tried, by a thread of its own in every process: seldom, as that costs something.
	processorTick = 20 * time.Millisecond
	// away is from which delay on a processor counts as one that was away. Threads wait for a busy one, too, but not for as long, and
	// what is on it goes on.
	away = 50 * time.Millisecond
)

// processors writes down when a processor served no thread of this process. The other processors may have gone on meanwhile, and with
// them most of the process; but not what was running on that one, as in a virtual machine whose host has taken a processor away in
// the midst of it.
func (d *detector) processors() {
	var mine unix.CPUSet
	if err := unix.SchedGetaffinity(0, &mine); err != nil {
		return // then nothing is excused
	}
	for cpu, left := 0, mine.Count(); left > 0; cpu++ {
		if mine.IsSet(cpu) {
			left--
			d.begin(func(begun func()) { d.processor(cpu, begun) })
		}
	}
}

func (d *detector) processor(cpu int, begun func()) {
	runtime.LockOSThread() // and never let go: the thread ends with the goroutine
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
			d.history.Write(history.Event{T: now, Kind: history.Starved, Client: d.client, Life: d.life, Processor: cpu, Stall: late})
		}
		last = now
	}
}
