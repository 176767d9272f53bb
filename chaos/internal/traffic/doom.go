package traffic

import (
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// doom is what the client is to do to itself, and when: "" is nothing.
type doom struct {
	moment   atomic.Pointer[string]
	freezing sync.Mutex
}

// arm has the next such moment be the last.
func (d *doom) arm(moment string) { d.moment.Store(&moment) }

// disarm has no moment be the last. When it returns the process is not about to freeze, either.
func (d *doom) disarm() {
	d.moment.Store(nil)
	d.freezing.Lock()
	defer d.freezing.Unlock()
}

// now reports whether the doom is about this moment, which is told of one only.
func (d *doom) now(moment string) bool {
	armed := d.moment.Load()
	return armed != nil && *armed == moment && d.moment.CompareAndSwap(armed, nil)
}

// at kills the process if this is the moment.
func (d *doom) at(moment string) {
	if d.now(moment) {
		dieNow()
	}
}

// soon kills the process in the middle of what comes next, if this is the moment.
func (d *doom) soon(moment string) {
	if d.now(moment) {
		time.AfterFunc(Span{200 * time.Microsecond, 4 * time.Millisecond}.draw(fresh()), dieNow)
	}
}

// frozen freezes the process if this is the moment, and returns when it was thawed.
func (d *doom) frozen(moment string) {
	d.freezing.Lock()
	defer d.freezing.Unlock()
	if d.now(moment) {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = freeze(self)
		}
		if err != nil {
			panic("traffic: the client cannot freeze itself: " + err.Error())
		}
		time.Sleep(5 * time.Millisecond) // the signal may reach another thread first
	}
}

// fresh is not the worker's own source: a doom must not change what comes of the seed.
func fresh() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// dieNow does not return.
func dieNow() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic("traffic: the client cannot kill itself: " + err.Error())
	}
	select {}
}
