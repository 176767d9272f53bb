package simnet

import (
	"context"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// synTimeout is how long a kernel tries to connect to a host that does not answer.
const synTimeout = 127 * time.Second

// A Host is a client's machine: its connections and its clock.
type Host struct {
	net   *Net
	name  string
	ip    string
	clock *Clock
	links []*Link

	dead     atomic.Bool // killed
	draining atomic.Bool // Drain was called
}

// Host returns the host of that name; the first call makes it.
func (w *Net) Host(name string) *Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	if h := w.hosts[name]; h != nil {
		return h
	}
	h := &Host{net: w, name: name, ip: fmt.Sprintf("10.1.0.%d:40000", len(w.hosts)+1), clock: NewClock()}
	for range w.masters {
		h.links = append(h.links, &Link{net: w})
	}
	w.hosts[name] = h
	return h
}

// Name returns the host's name.
func (h *Host) Name() string { return h.name }

// Clock returns the host's clock.
func (h *Host) Clock() *Clock { return h.clock }

// To returns the link between this host and the i-th master.
func (h *Host) To(i int) *Link { return h.links[i] }

// path returns the path to a master.
func (h *Host) path(m *Master) path { return path{m.Link, h.links[m.index]} }

// Freeze stops the host as SIGSTOP does: its clock stands still until Thaw, its timers do not fire, it reads nothing,
// and what it writes is sent when it thaws. Goroutines that use neither the clock nor the network keep running.
func (h *Host) Freeze() { h.net.change(h.clock.Freeze) }

// Thaw ends Freeze. The clock jumps to the time that it would show without Freeze, and timers that were due fire. A
// killed host does not thaw.
func (h *Host) Thaw() {
	if !h.Dead() {
		h.net.change(h.clock.Thaw)
	}
}

// Suspend stops the host as sleep stops a laptop. It is like Freeze, except that the clock continues after Resume from
// where it stopped, while Thaw lets it jump ahead.
func (h *Host) Suspend() { h.net.change(h.clock.Suspend) }

// Resume ends Suspend.
func (h *Host) Resume() { h.net.change(h.clock.Resume) }

// Kill ends the host's process as SIGKILL does: its connections end after what it has written, and it does nothing
// more. Its goroutines cannot be ended: they wait, as those of a frozen host, until Drain.
func (h *Host) Kill() {
	h.net.change(func() {
		for _, c := range h.net.connections(func(c *conn) bool { return c.host == h }) {
			c.up.closeAfterData()
			c.down.sendNothing()
		}
		h.clock.Freeze()
		h.dead.Store(true)
	})
}

// Dead reports whether the host was killed.
func (h *Host) Dead() bool { return h.dead.Load() }

// Drain lets the goroutines of a killed host run to their end, without a network. A bubble must not end before its
// goroutines.
func (h *Host) Drain() {
	h.draining.Store(true)
	for _, c := range h.net.connections(func(c *conn) bool { return c.host == h }) {
		c.kill()
	}
	h.net.change(h.clock.Thaw)
}

// Frozen reports whether the host is frozen.
func (h *Host) Frozen() bool { return h.clock.Frozen() }

// AwaitThaw returns as soon as the host is not frozen. A program calls it where its code must not run in a frozen
// process.
func (h *Host) AwaitThaw() {
	for {
		h.net.mu.Lock()
		changed := h.net.changed
		h.net.mu.Unlock()
		if !h.Frozen() {
			return
		}
		<-changed
	}
}

// Dial connects to the master at addr. It takes a round trip. While the path is cut or the host is frozen, it waits:
// until that is over, ctx ends, or the kernel gives up after synTimeout.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: address(addr), Err: err}
	}
	m := h.net.at(addr)
	if m == nil {
		return fail(os.NewSyscallError("connect", syscall.EHOSTUNREACH))
	}
	path := h.path(m)
	m.dials.Add(1)
	serial := h.links[m.index].dials.Add(1)
	give := time.NewTimer(synTimeout)
	defer give.Stop()

	r := h.net.rng(h.name+"/dial", m.index, serial)
	var begun time.Time // when the first segment left; zero: it has not
	var both trip       // of the two segments of the handshake
	arrival := time.NewTimer(synTimeout)
	defer arrival.Stop()
	for {
		h.net.mu.Lock()
		changed := h.net.changed
		h.net.mu.Unlock()
		if h.draining.Load() {
			return fail(os.NewSyscallError("connect", syscall.ENETDOWN))
		}
		clear := !h.Frozen() && !path.cut(ToMaster) && !path.cut(FromMaster)
		now := time.Now()
		switch {
		case clear && begun.IsZero():
			both = path.draw(r, ToMaster).plus(path.draw(r, FromMaster))
			begun = now
			arrival.Reset(both.lost + both.way)
		case both.lost > 0 && !path.lossy(): // the next transmission arrives
			if next := nextTransmission(begun, now); next.Before(begun.Add(both.lost)) {
				arrival.Reset(next.Add(both.way).Sub(now))
			}
			both.lost = 0
		}
		var arrived <-chan time.Time
		if clear && !begun.IsZero() {
			arrived = arrival.C
		}
		select {
		case <-ctx.Done():
			return fail(ctx.Err())
		case <-give.C:
			return fail(os.NewSyscallError("connect", syscall.ETIMEDOUT))
		case <-changed:
		case <-arrived:
			c, err := m.accept(h, serial)
			if err != nil {
				return fail(err)
			}
			return c, nil
		}
	}
}
