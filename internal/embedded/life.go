package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/freeport"
)

// A life is a master from one start to the next stop: one listener, one data set, one run id.
type life struct {
	redis    *miniredis.Miniredis
	listener net.Listener
	gate     gate
	faults   *faults
	own      *server.Peer  // a client of this side
	frozen   bool          // guarded by Master.mu: this side holds redis' own lock
	pending  []func(*life) // guarded by Master.mu: what is to be done at the thaw

	runID  string
	replID string
	born   time.Time     // by the monotonic clock
	age    time.Duration // uptime claimed at birth

	accepting sync.WaitGroup
	sending   sync.WaitGroup // what is late
	mu        sync.Mutex
	conns     map[*conn]struct{}
}

// begin starts an empty master on addr.
//
// The listener is not miniredis' own, because its connections must pass a gate. A hook before each command would come
// too late (the command has been read, and its client may have an answer) and too often (also inside a script, while
// miniredis holds its lock).
func begin(addr string, uptime time.Duration, f *faults) (*life, error) {
	listener, err := freeport.Listen(addr)
	if err != nil {
		return nil, fmt.Errorf("embedded: cannot listen: %w", err)
	}
	l := &life{
		redis:    miniredis.NewMiniRedis(),
		listener: listener,
		faults:   f,
		own:      newOwnPeer(),
		runID:    hex40(),
		replID:   hex40(),
		born:     clock.System.Now(),
		age:      uptime,
		conns:    map[*conn]struct{}{},
	}
	// Only the first Dial makes a server without a listener.
	first, err := l.redis.Dial()
	if err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("embedded: %w", err)
	}
	_ = first.Close()
	l.redis.ClockTTL(true)
	l.redis.Server().SetPreHook(l.hook)
	l.accepting.Go(l.accept)
	return l, nil
}

func (l *life) accept() {
	for {
		c, err := l.listener.Accept()
		if err != nil {
			return
		}
		gated := newConn(c, l)
		l.mu.Lock()
		l.conns[gated] = struct{}{}
		l.mu.Unlock()
		l.redis.Server().ServeConn(gated)
	}
}

func (l *life) forget(c *conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// uptime returns the uptime that the master reports.
func (l *life) uptime() time.Duration { return l.age + clock.System.Now().Sub(l.born) }

// freeze takes miniredis' own lock, so that no command executes after the present one, and closes the gate.
func (l *life) freeze() {
	if l.frozen {
		return
	}
	l.frozen = true
	l.redis.Lock()
	l.gate.shut()
}

func (l *life) thaw() {
	if !l.frozen {
		return
	}
	l.frozen = false
	l.redis.Unlock()
	if len(l.pending) > 0 {
		// Let answers pass before changing the data: a script may hold the lock while its message waits to be written.
		l.gate.openWrites()
		for _, do := range l.pending {
			do(l)
		}
		l.pending = nil
	}
	l.gate.open()
}

// later calls the function now, or at the thaw if the master is frozen.
func (l *life) later(do func(*life)) {
	if l.frozen {
		l.pending = append(l.pending, do)
		return
	}
	do(l)
}

// end closes everything, and returns when every goroutine of this life is done. It closes connections first, so that
// the command that a frozen master is executing changes only data that is dropped, and its answer is not sent.
func (l *life) end() {
	_ = l.listener.Close()
	l.accepting.Wait()
	l.mu.Lock()
	conns := make([]*conn, 0, len(l.conns))
	for c := range l.conns {
		conns = append(conns, c)
	}
	l.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
	if l.frozen {
		l.redis.Unlock()
	}
	l.redis.CtxCancel() // wakes commands that block
	l.redis.Server().Close()
	l.redis.Close()
	l.sending.Wait()
}

func hex40() string {
	b := make([]byte, 20)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

func pause(d time.Duration) { _ = clock.Sleep(context.Background(), clock.System, d) }
