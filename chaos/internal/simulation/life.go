package simulation

import (
	"fmt"
	"sync"

	"github.com/redlock-go/redlock/internal/simnet"
)

// A Moment is a point of a client's traffic at which a fault is injected into it.
type Moment string

// The moments.
const (
	AtOnce    Moment = ""
	Acquiring Moment = "asking for a lock"
	Holding   Moment = "holding a lock"
	Releasing Moment = "giving a lock back"
	Writing   Moment = "about to write what a lock protects" // the client freezes then; at the others it is killed
)

// A life is one process of a client, from its start until it is killed.
type life struct {
	client  string
	number  int
	host    *simnet.Host
	locker  Locker
	workers sync.WaitGroup

	mu     sync.Mutex
	moment Moment // the crash point, AtOnce for none
}

// begin starts a new life of a client.
func (r *run) begin(client int) error {
	c := r.schedule.Clients[client]
	name := c.Name
	if lives := r.started[client]; lives > 0 {
		name = fmt.Sprintf("%s.life%d", c.Name, lives+1)
	}
	r.started[client]++
	h := r.world.Host(name)
	h.Clock().Monotonic()
	h.Clock().Rate(c.Rate)
	h.Clock().Ahead(c.Skew)
	for i := range r.schedule.Masters {
		if r.schedule.Proxies {
			h.To(i).Proxy()
		}
	}
	locker, err := r.open(r.world, h, r.schedule, c)
	if err != nil {
		r.problem(ByHarness, name, "cannot open its locker: %v", err)
		return err
	}
	r.hosts[client], r.lockers[client] = h, locker
	r.lives[client] = &life{client: c.Name, number: r.started[client] - 1, host: h, locker: locker}
	return nil
}

// work starts the workers of a client's present life.
func (r *run) work(client int) {
	l := r.lives[client]
	for n := range r.schedule.Clients[client].Workers {
		l.workers.Go(newWorker(r, client, n).work)
	}
	n := r.schedule.Clients[client].Workers
	for _, g := range r.schedule.Groups {
		for range max(g.Workers, 1) {
			w := newWorker(r, client, n)
			l.workers.Go(func() { w.contend(g) })
			n++
		}
	}
}

// revive starts a new life of a client. It first kills a client that still lives because it has not reached its crash
// point.
func (r *run) revive(client int) {
	old := r.lives[client]
	old.setCrashPoint(AtOnce)
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

// setCrashPoint sets the crash point of a life. AtOnce removes it.
func (l *life) setCrashPoint(m Moment) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moment = m
}

// reached reports whether m is the crash point of the life, and removes it.
func (l *life) reached(m Moment) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.moment != m {
		return false
	}
	l.moment = AtOnce
	return true
}
