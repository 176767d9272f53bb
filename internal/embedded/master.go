// Package embedded runs Redis masters inside this process, for tests and for trying the library without a server.
//
// A [Master] is a miniredis behind a real loopback socket, so that a client sees refused ports, silent connections and
// late answers as with a real server. In addition to miniredis it has what a quorum lock needs: TTLs that follow the
// clock, and an INFO with a run id and an uptime. It can crash, start again empty, freeze, thaw and lose its data. It
// keeps nothing on disk, and it is slow with many keys, because every command scans all keys for expired ones. It is a
// test double, not a server.
package embedded

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/freeport"
)

// defaultUptime is the uptime of a new master: longer than any sensible restart window.
const defaultUptime = 30 * 24 * time.Hour

// ErrClosed is returned by [Master.Start] on a master that was closed.
var ErrClosed = errors.New("embedded: the master is closed")

// A Master is one Redis master in this process. Its methods may be called from any goroutine, one at a time or
// together; each returns when its effect is complete. Calling one that changes nothing (stopping a stopped master,
// thawing one that is not frozen) does nothing.
type Master struct {
	addr   string         // where it listens, across restarts
	port   *freeport.Port // of addr, until Close; nil if the caller has chosen the address
	faults *faults

	mu     sync.Mutex
	life   *life // nil while stopped
	closed bool
}

// An Option configures [Open].
type Option func(*config)

type config struct {
	addr   string
	uptime time.Duration
}

// WithAddr sets the address to listen on, host:port. Default 127.0.0.1 and a free port.
func WithAddr(addr string) Option {
	return func(c *config) { c.addr = addr }
}

// WithUptime sets how long the new master claims to have been up already. Default 30 days, so that no restart guard
// makes it wait for its first vote. A master that is started again counts from zero, whatever was set here.
func WithUptime(d time.Duration) Option {
	return func(c *config) { c.uptime = d }
}

// Open starts a new, empty master. It must be closed with [Master.Close].
func Open(opts ...Option) (*Master, error) {
	c := config{uptime: defaultUptime}
	for _, o := range opts {
		o(&c)
	}
	if c.uptime < 0 {
		return nil, fmt.Errorf("embedded: uptime %v: it must not be negative", c.uptime)
	}
	m := &Master{faults: &faults{}}
	if c.addr == "" {
		port, err := freeport.Reserve()
		if err != nil {
			return nil, fmt.Errorf("embedded: %w", err)
		}
		m.port, c.addr = port, port.Addr()
	}
	l, err := begin(c.addr, c.uptime, m.faults)
	if err != nil {
		m.port.Release()
		return nil, err
	}
	m.addr, m.life = l.listener.Addr().String(), l
	return m, nil
}

// OpenAll starts n new masters, or none when one of them fails. n must be at least 1.
func OpenAll(n int, opts ...Option) ([]*Master, error) {
	if n < 1 {
		return nil, fmt.Errorf("embedded: %d masters: there must be at least 1", n)
	}
	masters := make([]*Master, 0, n)
	for range n {
		m, err := Open(opts...)
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

// Stop ends the master like a crash without persistence: its connections close without an answer to what was asked
// last, its port refuses new ones, its data and its scripts are gone. A frozen master executes nothing of what it had
// not yet read.
func (m *Master) Stop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stop()
}

func (m *Master) stop() {
	if m.life != nil {
		m.life.end()
		m.life = nil
	}
}

// Start restarts a stopped master on the same port: empty, with a new run id and an uptime of zero. A restart guard
// keeps it from voting until its window has passed. If another process has taken the port meanwhile, Start tries for
// two seconds, then returns an error, and the master stays stopped. After [Master.Close] Start returns [ErrClosed].
func (m *Master) Start() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if m.life != nil {
		return nil
	}
	sys := clock.System
	const patience = 2 * time.Second
	for asked := sys.Now(); ; {
		l, err := begin(m.addr, 0, m.faults)
		if err == nil {
			m.life = l
			return nil
		}
		if sys.Now().Sub(asked) > patience {
			return err
		}
		pause(20 * time.Millisecond)
	}
}

// Freeze stops the master as SIGSTOP stops a process: connections stay open and new ones are taken, but nothing is
// executed and nothing is answered until [Master.Thaw]. What was sent meanwhile is executed then, also if its sender
// has left. No command executes any more when Freeze returns; the answers to those before it may be held back, too.
func (m *Master) Freeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life != nil {
		m.life.freeze()
	}
}

// Thaw ends Freeze.
func (m *Master) Thaw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life != nil {
		m.life.thaw()
	}
}

// Wipe loses all data like a FLUSHALL: without a trace in INFO, the run id stays the same. Connections and scripts
// stay. A frozen master loses what it holds as it thaws, before it executes what was sent since.
func (m *Master) Wipe() {
	m.later(func(l *life) { l.redis.FlushAll() })
}

// Close stops the master for good, frozen or not. No goroutine of it is left when Close returns.
func (m *Master) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stop()
	m.closed = true
	m.port.Release()
}
