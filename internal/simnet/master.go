package simnet

import (
	"bufio"
	"crypto/sha1"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Master is one Redis master. The faults of its [Link] apply to all hosts.
type Master struct {
	*Link
	index int
	addr  string

	mu       sync.Mutex
	cond     *sync.Cond // frozen or up changed
	redis    *miniredis.Miniredis
	up       bool
	frozen   bool
	refuse   bool
	lives    int
	runID    string
	booted   time.Time // by the master's own clock
	began    time.Time // bubble time at which this life began; of the first life, when the Net was made
	clock    *Clock
	lua      *interpreter      // nil: none is needed yet
	scripts  map[string]string // by SHA-1; miniredis has those of SCRIPT LOAD, and the foreign ones
	password bool              // it asks for one
	fields   map[string]string // INFO fields set by a test
	rules    []rule
	hangUp   func(args []string) bool // the commands at which it hangs up; nil: none
	nested   string                   // the error that a rule gave to a script's command
	calling  *call                    // the command being executed

	conns      map[*conn]struct{}
	ever       int
	seen       map[string]int
	nestedSeen map[string]int
}

// A rule answers commands with an error.
type rule struct {
	msg  string
	cmds map[string]bool // nil: all
	left int             // how often; negative: without limit
}

func newMaster(w *Net, i int, addr string, uptime time.Duration) *Master {
	m := &Master{
		Link: &Link{net: w}, index: i, addr: addr,
		redis: miniredis.NewMiniRedis(), up: true,
		clock: NewClock(), booted: time.Now().Add(-uptime),
		scripts: make(map[string]string), fields: make(map[string]string), conns: make(map[*conn]struct{}),
		seen: make(map[string]int), nestedSeen: make(map[string]int),
	}
	m.cond = sync.NewCond(&m.mu)
	m.newLife()
	m.redis.ClockTTL(true)
	c, err := m.redis.Dial() // starts it, without a listener
	if err != nil {
		panic("simnet: " + err.Error())
	}
	_ = c.Close()
	m.redis.Server().SetPreHook(m.hook)
	return m
}

// Index returns the index of the master in its Net.
func (m *Master) Index() int { return m.index }

// Addr returns the address.
func (m *Master) Addr() string { return m.addr }

// URL returns the redis:// URL.
func (m *Master) URL() string { return "redis://" + m.addr }

// Redis returns the miniredis server, for inspection. The Net uses its listener and its hook.
func (m *Master) Redis() *miniredis.Miniredis { return m.redis }

// locked calls f between two commands, at the master's present time.
func (m *Master) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.redis.SetTime(m.now())
	f()
}

// read is locked for an f that returns something.
func read[T any](m *Master, f func() T) (v T) {
	m.locked(func() { v = f() })
	return v
}

// Keys returns all keys that have not expired, sorted.
func (m *Master) Keys() []string { return read(m, m.redis.Keys) }

// Get returns the string at key, "" if there is none.
func (m *Master) Get(key string) (value string) {
	m.locked(func() { value, _ = m.redis.Get(key) })
	return value
}

// Set sets the string at key as another client would, with a TTL unless ttl is 0. It replaces any value.
func (m *Master) Set(key, value string, ttl time.Duration) {
	m.locked(func() {
		m.redis.Del(key)
		_ = m.redis.Set(key, value)
		if ttl > 0 { // miniredis takes a TTL of 0 for one that has just ended
			m.redis.SetTTL(key, ttl)
		}
	})
}

// Del removes key and publishes message on channel, as another client would.
func (m *Master) Del(key, channel, message string) {
	m.locked(func() {
		m.redis.Del(key)
		m.redis.Publish(channel, message)
	})
}

// TTL returns the remaining time of key; 0 if the key does not exist or has no TTL.
func (m *Master) TTL(key string) time.Duration {
	return read(m, func() time.Duration { return m.redis.TTL(key) })
}

// Subscribers returns the number of connections that are subscribed to channel.
func (m *Master) Subscribers(channel string) int {
	return m.redis.PubSubNumSub(channel)[channel]
}

// Jump steps the master's wall clock by d, which may be negative. The clock determines when keys expire and what
// uptime_in_seconds says.
func (m *Master) Jump(d time.Duration) {
	m.set(func() {
		left := make(map[string]time.Duration)
		for _, key := range m.redis.Keys() {
			if ttl := m.redis.TTL(key); ttl > 0 {
				left[key] = ttl - d
			}
		}
		m.clock.SetAhead(d)
		m.redis.SetTime(m.now())
		m.redis.ClockTTL(true) // counts from here
		for key, ttl := range left {
			if ttl <= 0 {
				m.redis.Del(key)
			} else {
				m.redis.SetTTL(key, ttl)
			}
		}
	})
}

// Rate makes the master's clock run at rate times the bubble's time from now on. It must be above 0.
func (m *Master) Rate(rate float64) { m.set(func() { m.clock.Rate(rate) }) }

// Now returns what the master's clock shows.
func (m *Master) Now() time.Time { return read(m, m.now) }

// newLife draws a new run_id. The server starts now.
func (m *Master) newLife() {
	m.lives++
	m.began = time.Now()
	m.runID = fmt.Sprintf("%x", sha1.Sum(fmt.Appendf(nil, "%d/%d/%d", m.net.seed, m.index, m.lives)))
}

// now returns the time of day of the master.
func (m *Master) now() time.Time { return m.clock.shows().Round(0) }

func (m *Master) open() []*conn {
	return read(m, func() []*conn { return slices.Collect(maps.Keys(m.conns)) })
}

// Count returns how often the clients sent the command (in capitals) to this master, executed or refused.
func (m *Master) Count(cmd string) int { return read(m, func() int { return m.seen[cmd] }) }

// CountNested returns how often scripts called the command.
func (m *Master) CountNested(cmd string) int { return read(m, func() int { return m.nestedSeen[cmd] }) }

// Counts returns how often the clients sent each command.
func (m *Master) Counts() map[string]int {
	return read(m, func() map[string]int { return maps.Clone(m.seen) })
}

// Conns returns the number of connections that the server considers open. A connection that a client has closed counts
// until the server reads its end.
func (m *Master) Conns() int { return len(m.open()) }

// ConnsEver returns the number of connections that the server has accepted.
func (m *Master) ConnsEver() int { return read(m, func() int { return m.ever }) }

// Dials returns how often a client tried to connect.
func (m *Master) Dials() int { return int(m.Link.dials.Load()) }

// Connect connects the host "client" to the master in no time.
func (m *Master) Connect() (net.Conn, error) {
	h := m.net.Host("client")
	return m.accept(h, h.links[m.index].dials.Add(1))
}

// accept is the end of a dial that arrived.
func (m *Master) accept(h *Host, serial int64) (net.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.up || m.refuse {
		return nil, os.NewSyscallError("connect", syscall.ECONNREFUSED)
	}
	c := newConn(h, m, serial)
	if !m.net.add(c) {
		return nil, net.ErrClosed
	}
	m.conns[c] = struct{}{}
	m.ever++
	go m.serve(c, m.lives)
	return c, nil
}

// discardingPeer returns a peer that discards answers.
func discardingPeer() *server.Peer { return server.NewPeer(bufio.NewWriter(io.Discard)) }
