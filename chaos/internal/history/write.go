package history

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// Writer appends events to a file of one process's own. Each line reaches the kernel with one write before Write
// returns, so that what a killed process wrote last is there. Processes do not share a file: a kill may tear the line
// being written, and a torn line in the middle of a shared file would spoil the next line too.
type Writer struct {
	clock Clock

	mu   sync.Mutex
	file *os.File
}

// Create starts a history at path, which must not exist.
func Create(path string, clock Clock) (*Writer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot start a history: %w", err)
	}
	return &Writer{clock: clock, file: f}, nil
}

// Write appends e. If e.T is zero, it is stamped with the time of the call. A history that cannot be written makes
// every verdict worthless, so that is a panic.
func (w *Writer) Write(e Event) {
	if e.T == 0 {
		e.T = w.clock.Now()
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("history: event %v cannot be encoded: %v", e, err))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.Write(append(line, '\n')); err != nil {
		panic(fmt.Sprintf("history: %v", err))
	}
}

// Clock returns the clock that stamps the events.
func (w *Writer) Clock() Clock { return w.clock }

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }
