// Package simnet simulates Redis masters, the hosts of their clients, and a faulty network between them in the virtual
// time of a testing/synctest bubble.
//
// The masters are miniredis, so the real scripts run. The connections are net.Conn, so the real client runs. Only the
// network is simulated: the package opens no socket, and an address such as 10.0.0.1:6379 is valid inside one [Net]
// only.
//
//	synctest.Test(t, func(t *testing.T) {
//		world := simnet.New(t, seed, 5)
//		client := redis.NewClient(&redis.Options{Addr: world.Addr(0), Dialer: world.Dial, …})
//		world.Master(0).Freeze()
//		…
//	})
//
// What is simulated, and how far:
//
//   - A connection is two ordered streams of bytes. Bytes take the path's delay. A lost segment is retransmitted, and
//     all later ones wait for it. Nothing is reordered or corrupted within a connection.
//   - Toward a master a connection holds at most [Buffer] unread bytes; then Write blocks, as with a full socket
//     buffer. Toward a client it holds any number.
//   - A client's Close does not discard what it has written: the master still reads it, late if it is frozen or cut
//     off. After SetLinger(0) Close discards what was not sent or must be sent again, as a kernel does. A proxy in
//     between ([Link.Proxy]) discards nothing.
//   - A master executes one command at a time, in no time. With [Net.Cost] a command takes time.
//   - Blocking commands (BLPOP, WAIT) must not be used: they would block the master forever.
//
// A seed determines every delay and every loss of each connection. It does not determine the order in which goroutines
// run that are ready at the same instant, so two runs of one seed may differ.
package simnet

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// TB is the part of testing.TB that a Net needs.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
}

// Buffer is the number of bytes that a connection holds before its master reads them.
const Buffer = 64 << 10

// lull is how long a Net runs after its test. After a refused connection go-redis probes the master once a second, in a
// goroutine that notices Client.Close only at its next probe. A bubble must not end before its goroutines.
const lull = 2 * time.Second

// A Net has masters, hosts and the links between them. Any goroutine of its bubble may call its methods.
type Net struct {
	seed    uint64
	masters []*Master

	mu      sync.Mutex
	byAddr  map[string][]*Master // the next one first
	hosts   map[string]*Host
	conns   map[*conn]struct{}
	changed chan struct{} // closed and replaced whenever a fault begins or ends
	watch   func(Event)
	cost    time.Duration
	closed  bool
	serving sync.WaitGroup
}

// An Event is one command that a master executed, for a client or for a script.
type Event struct {
	// At is the time of the execution.
	At time.Time
	// Host sent it, and Master executed it.
	Host   string
	Master int
	// Began is when the server started that executed it.
	Began time.Time
	// Args is the command with its arguments; Reply is the raw answer.
	Args  []string
	Reply string
}

// New returns a Net of n masters, at 10.0.0.1:6379 and so on, that have been up for a day. It must be called inside a
// bubble. Two seconds of virtual time after t's other cleanups it closes the Net, and t fails if a client left a
// connection open.
func New(t TB, seed uint64, n int) *Net {
	t.Helper()
	addrs := make([]string, n)
	for i := range addrs {
		addrs[i] = fmt.Sprintf("10.0.0.%d:6379", i+1)
	}
	return NewAt(t, seed, addrs, 24*time.Hour)
}

// NewAt is New with one master at each of addrs, all of them up for as long as uptime says.
func NewAt(t TB, seed uint64, addrs []string, uptime time.Duration) *Net {
	t.Helper()
	w := Open(seed, addrs, uptime)
	t.Cleanup(func() {
		time.Sleep(lull)
		for _, c := range w.unclosed() {
			t.Errorf("simnet: %s left a connection to master %d (%s) open", c.host.name, c.master.index, c.master.addr)
		}
		w.Close()
	})
	return w
}

// Open is NewAt without a test. The caller must Close the Net. Outside of a bubble its time is the machine's.
func Open(seed uint64, addrs []string, uptime time.Duration) *Net {
	w := &Net{
		seed:    seed,
		byAddr:  make(map[string][]*Master),
		hosts:   make(map[string]*Host),
		conns:   make(map[*conn]struct{}),
		changed: make(chan struct{}),
	}
	for i, addr := range addrs {
		m := newMaster(w, i, addr, uptime)
		w.masters = append(w.masters, m)
		w.byAddr[m.addr] = []*Master{m}
	}
	return w
}

// Master returns the i-th master, counted from 0.
func (w *Net) Master(i int) *Master { return w.masters[i] }

// Masters returns all masters.
func (w *Net) Masters() []*Master { return append([]*Master(nil), w.masters...) }

// Addr returns the address of the i-th master.
func (w *Net) Addr(i int) string { return w.masters[i].addr }

// URLs returns one redis:// URL per master.
func (w *Net) URLs() []string {
	urls := make([]string, len(w.masters))
	for i, m := range w.masters {
		urls[i] = m.URL()
	}
	return urls
}

// Alias makes addr another address of the masters with these indices, which take its connections in turn, as behind a
// load balancer. Existing connections remain.
func (w *Net) Alias(addr string, indices ...int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byAddr[addr] = nil
	for _, i := range indices {
		w.byAddr[addr] = append(w.byAddr[addr], w.masters[i])
	}
}

// at returns the master that takes the next connection to addr; nil if there is none.
func (w *Net) at(addr string) *Master {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.byAddr[addr]
	if len(all) == 0 {
		return nil
	}
	next := all[0]
	copy(all, all[1:])
	all[len(all)-1] = next
	return next
}

// Dial connects the host "client" to the master at addr. It suits redis.Options.Dialer and node.WithDialer.
func (w *Net) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return w.Host("client").Dial(ctx, network, addr)
}

// Watch calls f for every command that a master executes, in the order of each master. f must be quick and must not
// call methods of the Net. A later Watch replaces f.
func (w *Net) Watch(f func(Event)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch = f
}

// Cost makes every command take d. Without it a client that sends commands in a tight loop would stop the bubble's
// time.
func (w *Net) Cost(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cost = d
}

// Open returns the number of connections that the clients have open.
func (w *Net) Open() int { return len(w.unclosed()) }

// Heal ends every fault of every master, link and host: masters that are down restart, frozen masters and hosts thaw.
// Killed hosts stay dead.
func (w *Net) Heal() {
	w.mu.Lock()
	hosts := make([]*Host, 0, len(w.hosts))
	for _, h := range w.hosts {
		hosts = append(hosts, h)
	}
	w.mu.Unlock()
	for _, h := range hosts {
		h.Thaw()
		for _, l := range h.links {
			l.Heal()
		}
	}
	for _, m := range w.masters {
		m.Heal()
		if !m.Up() {
			m.Restart()
		}
	}
}

// Close breaks every connection and returns when no goroutine of the Net runs any more. New has the test call it.
func (w *Net) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.change(func() {})
	for _, c := range w.connections(all) {
		c.kill()
	}
	for _, m := range w.masters {
		m.mu.Lock()
		m.cond.Broadcast()
		m.mu.Unlock()
	}
	w.serving.Wait()
	for _, m := range w.masters {
		m.redis.Close()
	}
}

func (w *Net) unclosed() []*conn {
	return w.connections(func(c *conn) bool { return !c.closed.Load() })
}

func all(*conn) bool { return true }

// connections returns those for which is returns true.
func (w *Net) connections(is func(*conn) bool) []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	var found []*conn
	for c := range w.conns {
		if is(c) {
			found = append(found, c)
		}
	}
	return found
}

// change begins or ends a fault, and wakes the goroutines that wait for such a change.
func (w *Net) change(f func()) {
	conns := w.connections(all)
	var waiting []*half
	var lossy []*conn
	for _, c := range conns { // what has arrived by now has arrived, also if the change is a cut
		for _, h := range []*half{c.up, c.down} {
			h.settle()
			if c.proxy && h.cut() {
				waiting = append(waiting, h)
			}
		}
		if c.path.lossy() {
			lossy = append(lossy, c)
		}
	}
	f()
	for _, h := range waiting {
		if !h.cut() {
			h.repeat()
		}
	}
	for _, c := range lossy {
		if !c.path.lossy() {
			c.up.mend()
			c.down.mend()
		}
	}
	w.mu.Lock()
	close(w.changed)
	w.changed = make(chan struct{})
	w.mu.Unlock()
	for _, c := range conns {
		c.up.wake()
		c.down.wake()
	}
}

// add registers c. It returns false if the Net is closed.
func (w *Net) add(c *conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.conns[c] = struct{}{}
	w.serving.Add(1)
	return true
}

// drop removes a connection that both sides have closed.
func (w *Net) drop(c *conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c.served.Load() && c.closed.Load() {
		delete(w.conns, c)
	}
}

// observe reports a command to the watcher, and returns the time that the command takes.
func (w *Net) observe(e Event) time.Duration {
	w.mu.Lock()
	f, cost := w.watch, w.cost
	w.mu.Unlock()
	if f != nil {
		f(e)
	}
	return cost
}

// rng returns a separate generator for each purpose, so that the draws of one connection do not depend on the others.
func (w *Net) rng(purpose string, a int, b int64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d/%d", purpose, a, b) // never fails
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}
