package traffic

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/register"
)

// A Life is one life of a client: what its workers are told and what they use. [RunClient] makes it of a process, and a
// simulation makes it of goroutines.
type Life struct {
	// Config has the client's name, the number of the life, the prefix of the names, the groups and the seed.
	Config
	World
	Locker    kinds.Locker
	Registers map[string]Register
	// Look is how often a holder reads its deadline. With 0 it reads the deadline only at the end of the hold; if the
	// deadline is later than before, the history has it from the beginning of the hold.
	Look time.Duration

	workers atomic.Int64 // the last id given to a worker
}

// World is what differs between a process and a simulated one.
type World interface {
	// Write adds an event to the history. Its time is the present unless it has one.
	Write(e history.Event)
	// Now returns the present on the history's clock. TrueTime returns the time on that clock at which the lock's clock
	// shows t.
	Now() time.Duration
	TrueTime(t time.Time) time.Duration
	// Awake waits until the process is not frozen.
	Awake()
	// At has the process crash as the point says, if it is its crash point. It returns when the process has thawed.
	At(point string)
}

// Register is a resource that locks protect.
type Register interface {
	Read(e history.Event, value *int64) error
	Write(e history.Event, rejected *string) error
}

var _ Register = (*register.Counters)(nil)

// Start starts the workers of the life's groups, each with run. They work until ctx ends.
func (l *Life) Start(ctx context.Context, run func(func())) {
	for _, g := range l.Groups {
		for range max(1, g.Workers) {
			w := l.Worker()
			run(func() { w.storm(ctx, g) })
		}
	}
}

// Worker returns a new one; what it draws depends on the seed and on who it is.
func (l *Life) Worker() *Worker {
	id := int(l.workers.Add(1))
	who := fmt.Sprintf("%s.%d.%d", l.Client, l.Config.Life, id)
	h := fnv.New64a()
	_, _ = io.WriteString(h, who) // never fails
	return &Worker{life: l, id: id, rng: rand.New(rand.NewPCG(l.Seed, h.Sum64()))}
}

// Round acquires once what each group acquires: each name, as a reader and as a writer where there are both, or all
// names at once; with a fencing token where there is one. It waits for each until patience ends, unlocks it, and
// returns when that is over.
func (l *Life) Round(patience time.Duration) {
	var all []kinds.Request
	for _, g := range l.Groups {
		names := g.names(l.Prefix, l.Client)
		for _, mode := range g.Modes() {
			r := kinds.Request{Mode: mode, Slots: g.Slots, Fencing: g.Fencing, MinHold: g.MinHold, TTL: TTL}
			if kinds.Of(r.Mode).Owned() {
				r.Owner = l.Client
			}
			each := slices.Collect(slices.Chunk(names, 1))
			if kinds.Of(mode).Several {
				each = [][]string{names}
			}
			for _, r.Names = range each {
				all = append(all, r)
			}
		}
	}
	var over sync.WaitGroup
	for _, r := range all {
		w := l.Worker()
		t := try{Request: r, patience: patience, hold: shortHold.Least, phase: history.Calm}
		over.Go(func() { w.pass(context.Background(), t) })
	}
	over.Wait()
}

// Config is the configuration of a client process.
type Config struct {
	Client string
	Life   int
	// Lock is the name of the broken lock that it uses (see [broken.All]); "" is the lock under test.
	Lock string
	URLs []string
	// MaxTTL is the longest TTL or minimum hold of any client.
	MaxTTL time.Duration
	// Prefix is the beginning of all names.
	Prefix string
	Groups []Group
	// Registers are the addresses of the registers that the groups use, by kind.
	Registers map[string]string
	// Seed determines how long the workers hold, and how long they wait.
	Seed uint64
	// History is the file that it writes, which must not exist.
	History string
}

// The crash points.
const (
	// NoCrashPoint removes the crash point.
	NoCrashPoint = ""
	// Acquiring kills the client a few hundred microseconds to milliseconds after it called Lock.
	Acquiring = "acquiring"
	// Holding kills the client at the beginning of the critical section.
	Holding = "holding"
	// FrozenHolding freezes the client near the end of the critical section, after the holder last checked its lock and
	// before the write that this check allowed. Even a careful holder does not check again.
	FrozenHolding = "frozen-holding"
	// Releasing kills the client a few hundred microseconds to milliseconds after it called Unlock.
	Releasing = "releasing"
)

// CrashPoint is the crash point that is set. A client crashes there once.
type CrashPoint struct{ point atomic.Value }

// Set sets the crash point. [NoCrashPoint] removes it.
func (c *CrashPoint) Set(point string) { c.point.Store(point) }

// Reached reports whether point is the crash point, and removes it: only one worker crashes at it.
func (c *CrashPoint) Reached(point string) bool { return c.point.CompareAndSwap(point, NoCrashPoint) }

// Name returns the name of a client in the history.
func Name(client int) string { return fmt.Sprintf("c%d", client) }
