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
