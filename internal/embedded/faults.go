package embedded

import (
	"bufio"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// faults are the faults that a test sets on a master. They stay in effect across restarts.
type faults struct {
	slow    atomic.Int64           // the delay of everything that is sent, in nanoseconds
	refusal atomic.Pointer[string] // the error reply to every command; nil: none
}

// Slow makes everything that the master sends arrive d later than it would: answers and messages, on connections that
// exist and on new ones. Answers to several commands on one connection are late by d, not by a multiple of it, and
// nothing overtakes what was sent before. 0, or less, ends it; what is under way stays late. It outlasts Stop and
// Start.
func (m *Master) Slow(d time.Duration) { m.faults.slow.Store(int64(max(0, d))) }

// Refuse has the master answer every command with the error text, such as "OOM command not allowed", and execute none,
// also those of a handshake (AUTH, HELLO, SELECT) and of INFO. A script that is executed when Refuse is called is the
// last. "" ends it. It outlasts Stop and Start.
func (m *Master) Refuse(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	set := func() {
		if text == "" {
			m.faults.refusal.Store(nil)
		} else {
			m.faults.refusal.Store(&text)
		}
	}
	if m.life == nil || m.life.frozen { // nothing is executed
		set()
		return
	}
	m.life.redis.Lock() // between two scripts: none is refused halfway
	defer m.life.redis.Unlock()
	set()
}

// Set sets the string at key as another client's SET would: whatever was there is replaced. It lives for ttl, rounded
// up to a millisecond, or without an end if ttl is not positive. A frozen master executes it as it thaws, before what
// was sent since. A stopped master has no data, and stays empty.
func (m *Master) Set(key, value string, ttl time.Duration) {
	args := []string{"SET", key, value}
	if ttl > 0 {
		args = append(args, "PX", strconv.FormatInt(int64((ttl+time.Millisecond-1)/time.Millisecond), 10))
	}
	m.later(func(l *life) { l.execute(args...) })
}

// Del removes key as another client's DEL would, whatever it is, and has message published on channel. A frozen master
// executes it as it thaws, before what was sent since.
func (m *Master) Del(key, channel, message string) {
	m.later(func(l *life) {
		l.execute("DEL", key)
		l.execute("PUBLISH", channel, message)
	})
}

// later runs it on the running master: now, or at the thaw.
func (m *Master) later(do func(*life)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life != nil {
		m.life.later(do)
	}
}

// execute runs a command of the master's own, which nothing refuses.
func (l *life) execute(args ...string) {
	l.redis.Server().Dispatch(l.own, args)
}

// newOwnPeer returns a client whose answers are not read.
func newOwnPeer() *server.Peer { return server.NewPeer(bufio.NewWriter(io.Discard)) }
