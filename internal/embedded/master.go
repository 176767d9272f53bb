// Package embedded runs Redis masters inside this process, for tests and for trying the library without a server.
//
// A [Master] is one of package simnet, behind a real loopback socket, or on the simulated network of a test in virtual
// time ([Wrap]). It can crash, start again empty, freeze, thaw and lose its data. It keeps nothing on disk, and it is
// slow with many keys, because every command scans all keys for expired ones. It is a test double, not a server.
package embedded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testnet"
)

// Uptime is the uptime of a new master: longer than any sensible restart window.
const Uptime = 30 * 24 * time.Hour

// version is the version that miniredis reports in HELLO.
const version = "8.4.0"

// ErrClosed is returned by [Master.Start] on a master that was closed.
var ErrClosed = errors.New("embedded: the master is closed")

// A Master is one Redis master in this process. Its methods may be called from any goroutine, one at a time or
// together; each returns when its effect is complete. Calling one that changes nothing (stopping a stopped master,
// thawing one that is not frozen, anything but URL on a closed one) does nothing.
type Master struct {
	master *simnet.Master
	net    *simnet.Net // of this master alone; nil if the master is a test's
	hangUp func()      // closes its socket; nil while stopped, and without a socket
	addr   string
	port   *freeport.Port // of addr, until Close; nil if the caller has chosen the address

	mu      sync.Mutex
	closed  bool
	frozen  bool
	pending []func() // run at the thaw
}

// Open starts a new, empty master at addr, host:port; on 127.0.0.1 and a free port if addr is "". It reports an uptime
// of 30 days, so that no restart guard makes it wait for its first vote. It must be closed with [Master.Close].
func Open(addr string) (*Master, error) {
	m := &Master{}
	if addr == "" {
		port, err := freeport.Reserve()
		if err != nil {
			return nil, fmt.Errorf("embedded: %w", err)
		}
		m.port, addr = port, port.Addr()
	}
	listener, err := listen(addr)
	if err != nil {
		m.port.Release()
		return nil, err
	}
	m.addr = listener.Addr().String()
	m.net = simnet.Open(rand.Uint64(), []string{m.addr}, Uptime)
	m.master = m.net.Master(0)
	_, number, _ := net.SplitHostPort(m.addr)
	for field, value := range map[string]string{
		"redis_version": version, "server_name": names.DevServer, "tcp_port": number,
	} {
		m.master.Info(field, value)
	}
	m.serve(listener)
	return m, nil
}

func listen(addr string) (net.Listener, error) {
	l, err := freeport.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("embedded: cannot listen: %w", err)
	}
	return l, nil
}

// serve forwards what arrives at the socket to the master, by a connection of the simulated network, and back.
func (m *Master) serve(l net.Listener) {
	m.hangUp = testnet.Accept(l, func(outside net.Conn) {
		if inside, err := m.master.Connect(); err == nil {
			testnet.Forward(outside, inside)
		}
	})
}

// Wrap returns a master of a simulated network, which outlives it.
func Wrap(m *simnet.Master) *Master { return &Master{master: m, addr: m.Addr()} }

// OpenAll starts n new masters on free ports. n must be at least 1.
func OpenAll(n int) ([]*Master, error) {
	if n < 1 {
		return nil, fmt.Errorf("embedded: %d masters: there must be at least 1", n)
	}
	return OpenAt(make([]string, n)...)
}

// OpenAt starts a new master at each address, as [Open] does, or none when one of them fails.
func OpenAt(addrs ...string) ([]*Master, error) {
	masters := make([]*Master, 0, len(addrs))
	for _, addr := range addrs {
		m, err := Open(addr)
		if err != nil {
			CloseAll(masters)
			return nil, err
		}
		masters = append(masters, m)
	}
	return masters, nil
}

// CloseAll closes masters.
func CloseAll(masters []*Master) {
	for _, m := range masters {
		m.Close()
	}
}

// URLs returns the addresses of masters in the form that redlock.Open takes.
func URLs(masters []*Master) []string {
	urls := make([]string, len(masters))
	for i, m := range masters {
		urls[i] = m.URL()
	}
	return urls
}

// Addr returns the master's host:port. It stays the same across restarts.
func (m *Master) Addr() string { return m.addr }

// URL returns the master's redis:// URL. It stays the same across restarts.
func (m *Master) URL() string { return "redis://" + m.addr }

// do calls f unless the master is closed.
func (m *Master) do(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		f()
	}
}

// later calls f now if the master runs, or at the thaw if it is frozen.
func (m *Master) later(f func()) {
	m.do(func() {
		switch {
		case m.frozen:
			m.pending = append(m.pending, f)
		case m.master.Up():
			f()
		}
	})
}

// Stop ends the master like a crash without persistence: its connections close without an answer to what was asked
// last, its port refuses new ones, its data and its scripts are gone. A frozen master executes nothing of what it had
// not yet executed.
func (m *Master) Stop() { m.do(m.stop) }

func (m *Master) stop() {
	if m.master.Up() {
		m.master.Crash()
	}
	if m.hangUp != nil {
		m.hangUp()
		m.hangUp = nil
	}
	m.frozen, m.pending = false, nil
}

// Start restarts a stopped master on the same port: empty, with a new run id and an uptime of zero. A restart guard
// keeps it from voting until its window has passed. If another process has taken the port meanwhile, Start tries for
// a second, then returns an error, and the master stays stopped. After [Master.Close] Start returns [ErrClosed].
func (m *Master) Start() (err error) {
	err = ErrClosed
	m.do(func() {
		if err = nil; m.master.Up() {
			return
		}
		if m.net != nil {
			var listener net.Listener
			if listener, err = listen(m.addr); err != nil {
				return
			}
			defer m.serve(listener)
		}
		m.master.Restart()
	})
	return err
}

// Freeze stops the master as SIGSTOP stops a process: connections stay open and new ones are taken, but nothing is
// executed and nothing is answered until [Master.Thaw]. What was sent meanwhile is executed then, also if its sender
// has left. No command executes any more when Freeze returns.
func (m *Master) Freeze() {
	m.do(func() {
		if m.master.Up() {
			m.frozen = true
			m.master.Freeze()
		}
	})
}

// Thaw ends Freeze.
func (m *Master) Thaw() {
	m.do(func() {
		for _, f := range m.pending {
			f()
		}
		m.frozen, m.pending = false, nil
		m.master.Thaw()
	})
}

// Wipe loses all data like a FLUSHALL: without a trace in INFO, the run id stays the same. Connections and scripts
// stay. A frozen master loses what it holds as it thaws, before it executes what was sent since.
func (m *Master) Wipe() { m.later(m.master.Wipe) }

// Slow delays everything that the master sends by d: answers and messages, on existing and on new connections. Answers
// to several commands on one connection are late by d, not by a multiple of d, and keep their order. A d of 0 or less
// ends it; what was already sent stays late. It stays in effect across Stop and Start.
func (m *Master) Slow(d time.Duration) {
	m.do(func() { m.master.DelayWay(simnet.FromMaster, max(0, d), 0) })
}

// Refuse makes the master answer every command with the error text, such as "OOM command not allowed", and execute
// none. This includes the commands of a handshake (AUTH, HELLO, SELECT) and INFO. A script that is running when Refuse
// is called finishes. "" ends it. It stays in effect across Stop and Start.
func (m *Master) Refuse(text string) { m.do(func() { m.master.ReplyOnly(text) }) }

// Set sets the string at key as another client's SET would, and replaces any value. The key has the TTL ttl, or none if
// ttl is not positive. A frozen master executes it at the thaw, before the commands that it received meanwhile. A
// stopped master stays empty.
func (m *Master) Set(key, value string, ttl time.Duration) {
	m.later(func() { m.master.Set(key, value, max(0, ttl)) })
}

// Del removes key as another client's DEL would, and publishes message on channel. A frozen master executes it at the
// thaw, before the commands that it received meanwhile.
func (m *Master) Del(key, channel, message string) {
	m.later(func() { m.master.Del(key, channel, message) })
}

// Close stops the master for good, frozen or not. No goroutine of it is left when Close returns. A wrapped master only
// ignores all calls from then on: its network closes it.
func (m *Master) Close() {
	m.do(func() {
		if m.net != nil {
			m.stop()
			m.net.Close()
			m.port.Release()
		}
		m.closed = true
	})
}
