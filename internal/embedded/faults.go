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

// Slow delays everything that the master sends by d: answers and messages, on existing and on new connections. Answers
// to several commands on one connection are late by d, not by a multiple of d, and keep their order. A d of 0 or less
// ends it; what was already sent stays late. It stays in effect across Stop and Start.
func (m *Master) Slow(d time.Duration) { m.faults.slow.Store(int64(max(0, d))) }

// Refuse makes the master answer every command with the error text, such as "OOM command not allowed", and execute
// none. This includes the commands of a handshake (AUTH, HELLO, SELECT) and INFO. A script that is running when Refuse
// is called finishes. "" ends it. It stays in effect across Stop and Start.
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

// Set sets the string at key as another client's SET would, and replaces any value. The key has the TTL ttl, rounded up
// to a millisecond, or none if ttl is not positive. A frozen master executes it at the thaw, before the commands that
// it received meanwhile. A stopped master stays empty.
func (m *Master) Set(key, value string, ttl time.Duration) {
	args := []string{"SET", key, value}
	if ttl > 0 {
		args = append(args, "PX", strconv.FormatInt(int64((ttl+time.Millisecond-1)/time.Millisecond), 10))
	}
	m.later(func(l *life) { l.execute(args...) })
}

// Del removes key as another client's DEL would, and publishes message on channel. A frozen master executes it at the
// thaw, before the commands that it received meanwhile.
func (m *Master) Del(key, channel, message string) {
	m.later(func(l *life) {
		l.execute("DEL", key)
		l.execute("PUBLISH", channel, message)
	})
}

// later calls the function on the running master: now, or at the thaw if it is frozen.
func (m *Master) later(do func(*life)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.life != nil {
		m.life.later(do)
	}
}

// execute runs a command of the package itself, which Refuse does not affect.
func (l *life) execute(args ...string) {
	l.redis.Server().Dispatch(l.own, args)
}

// newOwnPeer returns a miniredis client that discards answers.
func newOwnPeer() *server.Peer { return server.NewPeer(bufio.NewWriter(io.Discard)) }
