package simulation

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/simnet"
)

// A life is one process of a client, from its start until it is killed. It implements traffic.World.
type life struct {
	run      *run
	settings Client
	number   int
	host     *simnet.Host
	locker   kinds.Locker
	traffic  *traffic.Life
	workers  sync.WaitGroup
	crash    traffic.CrashPoint

	froze, thawed atomic.Int64 // when the client last did so, a time of the run; 0 for never
}

// begin starts a new life of a client.
func (r *run) begin(client int) error {
	c := r.schedule.Clients[client]
	l := &life{run: r, settings: c}
	name := c.Name
	if old := r.lives[client]; old != nil {
		l.number = old.number + 1
		name = fmt.Sprintf("%s.life%d", c.Name, l.number+1)
	}
	h := r.world.Host(name)
	h.Clock().Monotonic()
	h.Clock().Rate(c.Rate)
	h.Clock().SetAhead(c.Skew)
	for i := range r.schedule.Masters {
		if r.schedule.Proxies {
			h.To(i).Proxy()
		}
	}
	locker, err := r.open(r.world, h, r.schedule, c)
	if err != nil {
		r.problem(check.ByHarness, name, "cannot open its locker: %v", err)
		return err
	}
	l.host, l.locker = h, locker
	l.traffic = &traffic.Life{
		Config: traffic.Config{Client: c.Name, Life: l.number, Groups: r.schedule.Groups, Seed: r.schedule.Seed},
		World:  l, Locker: contract{locker, l}, Registers: r.registers,
	}
	r.lives[client] = l
	return nil
}

// work starts the workers of a client's present life.
func (r *run) work(client int) {
	l := r.lives[client]
	for n := range r.schedule.Clients[client].Workers {
		l.workers.Go(newWorker(l, client, n).work)
	}
	l.traffic.Start(r.storm, l.workers.Go)
}

// revive starts a new life of a client. It first kills a client that still lives because it has not reached its crash
// point.
func (r *run) revive(client int) {
	old := r.lives[client]
	old.crash.Set(traffic.NoCrashPoint)
	old.host.Kill()
	if r.begin(client) == nil {
		r.killed = append(r.killed, old)
		r.work(client)
	}
}

// drainKilled lets the goroutines of killed clients run to their end.
func (r *run) drainKilled() {
	for _, l := range r.killed {
		l.host.Drain()
		r.await(l.host.Name(), &l.workers, r.schedule.MaxTTL()+patience)
		_ = l.locker.Close() // it has no network, so it cannot confirm its releases
	}
}

// Write adds an event to the history. Events of a killed client are dropped, except Extended: the last deadline that it
// learned still counts.
func (l *life) Write(e history.Event) {
	if e.Kind != history.Extended {
		l.Awake()
		if l.host.Dead() {
			return
		}
	}
	l.run.log(e)
}

// Now returns the time since the start of the run.
func (l *life) Now() time.Duration { return l.run.now() }

// TrueTime returns when the host's clock shows t.
func (l *life) TrueTime(t time.Time) time.Duration { return l.host.Clock().World(t).Sub(l.run.start) }

// Awake returns when the host is not frozen. A killed host is frozen until the end of the run.
func (l *life) Awake() { l.host.AwaitThaw() }

// At kills or freezes the client if point is its crash point. While it acquires or releases, it dies within 100 µs, in
// the middle of the next call.
func (l *life) At(point string) {
	if !l.crash.Reached(point) {
		return
	}
	l.run.note(l.host.Name(), "crash point: %s", point)
	switch point {
	case traffic.Holding:
		l.host.Kill()
	case traffic.FrozenHolding:
		l.freeze()
	default:
		time.AfterFunc(time.Duration(1+rand.IntN(int(100*time.Microsecond))), l.host.Kill)
		return
	}
	l.Awake()
}

func (l *life) freeze() {
	l.froze.Store(int64(l.Now()))
	l.host.Freeze()
}

// thaw thaws the client, and records how long it did not run.
func (l *life) thaw() {
	l.thawed.Store(int64(l.Now()))
	l.run.log(history.Event{
		Kind: history.Stalled, Client: l.settings.Name, Life: l.number, Stall: l.Now() - time.Duration(l.froze.Load()),
	})
	l.host.Thaw()
}

// problem records a finding, unless the client was killed: its goroutines prove nothing.
func (l *life) problem(by, format string, args ...any) {
	if !l.host.Dead() {
		l.run.problem(by, l.host.Name(), format, args...)
	}
}
