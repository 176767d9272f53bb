package clients

import (
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// crashPoint is the point of its traffic at which a client kills or freezes itself, once.
type crashPoint struct {
	traffic.CrashPoint
	freezing sync.Mutex
}

// clear removes the crash point. Once it has returned, the process does not freeze itself any more.
func (c *crashPoint) clear() {
	c.Set(traffic.NoCrashPoint)
	c.freezing.Lock()
	defer c.freezing.Unlock()
}

// KillAt kills the process if point is the crash point.
func (c *crashPoint) KillAt(point string) {
	if c.Reached(point) {
		killSelf()
	}
}

// KillDuring kills the process within the next milliseconds, during the caller's next step, if point is the crash
// point.
func (c *crashPoint) KillDuring(point string) {
	if c.Reached(point) {
		time.AfterFunc(traffic.Span{Least: 200 * time.Microsecond, Below: 4 * time.Millisecond}.Draw(freshRand()), killSelf)
	}
}

// FreezeAt freezes the process if point is the crash point, and returns when the process was thawed.
func (c *crashPoint) FreezeAt(point string) {
	c.freezing.Lock()
	defer c.freezing.Unlock()
	if c.Reached(point) {
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

// freshRand returns a source of its own: a crash point must not change what a worker draws from its seed.
func freshRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// killSelf does not return.
func killSelf() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic("traffic: the client cannot kill itself: " + err.Error())
	}
	select {}
}
