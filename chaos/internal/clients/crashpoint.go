package clients

import (
	"fmt"
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

// Set sets the crash point, or removes it. Once it has removed it, the process does not freeze itself any more.
func (c *crashPoint) Set(point string) {
	c.CrashPoint.Set(point)
	c.freezing.Lock()
	defer c.freezing.Unlock()
}

// At kills or freezes the process if point is its crash point. While it acquires or releases, it dies within the next
// milliseconds, during the caller's next step.
func (c *crashPoint) At(point string) {
	c.freezing.Lock()
	defer c.freezing.Unlock()
	if !c.Reached(point) {
		return
	}
	switch point {
	case traffic.Holding:
		killSelf()
	case traffic.FrozenHolding:
		toSelf("freeze", freeze)
		time.Sleep(5 * time.Millisecond) // the signal may reach another thread first
	default:
		time.AfterFunc(200*time.Microsecond+rand.N(3800*time.Microsecond), killSelf)
	}
}

// killSelf does not return.
func killSelf() {
	toSelf("kill", (*os.Process).Kill)
	select {}
}

func toSelf(what string, do func(*os.Process) error) {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = do(self)
	}
	if err != nil {
		panic(fmt.Sprintf("clients: the client cannot %s itself: %v", what, err))
	}
}
