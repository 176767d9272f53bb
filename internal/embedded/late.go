package embedded

import (
	"bytes"
	"net"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// A lateWriter delays what is written to it, and keeps the order.
type lateWriter struct {
	pass  func([]byte) (int, error) // the way on; it may block
	gone  <-chan struct{}           // closed when it is no longer needed
	spawn func(func())

	mu      sync.Mutex
	queue   []lateBytes
	running bool // a goroutine works off the queue
}

type lateBytes struct {
	data []byte
	at   time.Time
}

// write writes p after d. It blocks only if d is 0 and nothing is queued.
func (w *lateWriter) write(p []byte, d time.Duration) (int, error) {
	w.mu.Lock()
	if d == 0 && !w.running {
		w.mu.Unlock()
		return w.pass(p)
	}
	defer w.mu.Unlock()
	select {
	case <-w.gone:
		return 0, net.ErrClosed
	default:
	}
	w.queue = append(w.queue, lateBytes{bytes.Clone(p), clock.System.Now().Add(d)})
	if !w.running {
		w.running = true
		w.spawn(w.run)
	}
	return len(p), nil
}

// run writes the queue until it is empty. After an error, or the end of the connection, it discards the rest.
func (w *lateWriter) run() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.running = false
			w.mu.Unlock()
			return
		}
		next := w.queue[0]
		w.queue = w.queue[1:]
		w.mu.Unlock()
		if w.await(next.at) {
			_, _ = w.pass(next.data) // the other side finds out by itself
		}
	}
}

// await waits until t. It reports false if gone closes first.
func (w *lateWriter) await(t time.Time) bool {
	up := make(chan struct{})
	timer := clock.System.AfterFunc(t.Sub(clock.System.Now()), func() { close(up) })
	defer timer.Stop()
	select {
	case <-up:
		return true
	case <-w.gone:
		return false
	}
}
