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
