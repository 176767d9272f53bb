package simnet

import (
	"context"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// synTimeout is how long a kernel tries to connect to nowhere.
const synTimeout = 127 * time.Second

// A Host is a client's machine: its connections and its clock.
type Host struct {
	net   *Net
	name  string
	ip    string
	clock *Clock
	links []*Link
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

// Freeze stops the host as SIGSTOP does: its clock stands still and no timer of it fires; it reads nothing, and what it
// writes leaves when it thaws. Goroutines that ask neither the clock nor the network run on.
func (h *Host) Freeze() { h.net.change(h.clock.Freeze) }

// Thaw ends Freeze. The clock jumps to where it would be, and what was due meanwhile happens.
func (h *Host) Thaw() { h.net.change(h.clock.Thaw) }

// Frozen reports whether the host is frozen.
func (h *Host) Frozen() bool { return h.clock.Frozen() }

// AwaitThaw returns as soon as the host is not frozen: what a program calls where its code must not run in a frozen
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

// Dial connects to the master at addr. It takes a round trip; while the path is cut or the host frozen it waits until
// ctx ends.
func (h *Host) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	fail := func(err error) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: address(addr), Err: err}
	}
	h.net.mu.Lock()
	m := h.net.byAddr[addr]
	h.net.mu.Unlock()
	if m == nil {
		return fail(os.NewSyscallError("connect", syscall.EHOSTUNREACH))
	}
	m.dialled()
	link := h.links[m.index]
	serial := link.dialled()
	give := time.NewTimer(synTimeout)
	defer give.Stop()

	r := h.net.rng(h.name+"/dial", m.index, serial)
	var trip <-chan time.Time
	for {
		h.net.mu.Lock()
		changed := h.net.changed
		h.net.mu.Unlock()
		clear := !h.Frozen() && !m.cut(ToMaster) && !m.cut(FromMaster) && !link.cut(ToMaster) && !link.cut(FromMaster)
		if clear && trip == nil {
			both := m.draw(r).plus(link.draw(r)).plus(m.draw(r)).plus(link.draw(r))
			t := time.NewTimer(both.lost + both.way)
			defer t.Stop()
			trip = t.C
		}
		arrived := trip
		if !clear {
			arrived = nil
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
