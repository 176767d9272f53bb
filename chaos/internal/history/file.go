package history

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// ReadDir returns the events of all *.jsonl files in dir, in the order of their times. A last line without its end is
// what a kill leaves, and is dropped: its event is unknown. Any other line that is no event is an error.
func ReadDir(dir string) ([]Event, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no history (*.jsonl) in %s", dir)
	}
	var all []Event
	var wrong []error
	for _, p := range paths {
		events, err := readFile(p)
		if err != nil {
			wrong = append(wrong, err)
		}
		all = append(all, events...)
	}
	Sort(all)
	return all, errors.Join(wrong...)
}

// Sort orders events by their times; those of one moment keep their order.
func Sort(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.T, b.T) })
}

func readFile(path string) ([]Event, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndexByte(data, '\n') + 1
	var events []Event
	for i, line := range bytes.Split(data[:end], []byte{'\n'}) {
		if len(line) == 0 {
			continue
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return events, fmt.Errorf("%s:%d: not an event: %w", path, i+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// Save writes events to one file.
func Save(path string, events []Event) error {
	var lines bytes.Buffer
	enc := json.NewEncoder(&lines)
	for _, e := range events {
		if err := enc.Encode(e); err != nil {
			return err
		}
	}
	return os.WriteFile(path, lines.Bytes(), 0o644)
}

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
