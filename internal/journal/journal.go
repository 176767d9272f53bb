// Package journal writes log lines without waiting for their handler, except in Close.
package journal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

const (
	// maxLines bounds the lines that wait while a handler is given those before them. Later ones are dropped and counted.
	maxLines = 1 << 16
	// A line that repeats an event of one master, or of all locks, is written up to maxRepeats times in repeatWindow.
	maxRepeats   = 20
	repeatWindow = time.Minute
)

// Journal passes lines to its logger in order, from a goroutine that runs while there are any. A handler may block: it
// must delay no lock, no extension, no loss and no Close.
type Journal struct {
	Logger *slog.Logger // nil: lines are discarded, but for those of Add
	Clock  clock.Clock

	mu      sync.Mutex
	lines   []line
	dropped int
	idle    chan struct{} // closed when the goroutine ends; nil: it does not run
	repeats map[string]*repeats
}

// line is one record and the logger that gets it.
type line struct {
	slog.Record
	logger *slog.Logger
}

// repeats counts a repeated line.
type repeats struct {
	since            time.Time
	written, leftOut int
}

// Log writes a line.
func (j *Journal) Log(level slog.Level, message string, args ...any) {
	if j.Logger != nil {
		j.Add(j.Logger, level, message, args)
	}
}

// Repeat is Log for an event that may happen again without end. Lines with the same message and key are one event.
func (j *Journal) Repeat(level slog.Level, key, message string, args ...any) {
	if j.Logger == nil {
		return
	}
	leftOut, ok := j.MayRepeat(key + message)
	if !ok {
		return
	}
	if leftOut > 0 {
		args = append(args, "left_out", leftOut)
	}
	j.Add(j.Logger, level, message, args)
}

// MayRepeat reports whether an event may be written again, and how often it was left out since it last was.
func (j *Journal) MayRepeat(event string) (leftOut int, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.Clock.Now()
	r := j.repeats[event]
	if r == nil {
		if j.repeats == nil {
			j.repeats = make(map[string]*repeats)
		}
		r = &repeats{since: now}
		j.repeats[event] = r
	}
	if now.Sub(r.since) >= repeatWindow {
		r.since, r.written = now, 0
	}
	if r.written == maxRepeats {
		r.leftOut++
		return 0, false
	}
	leftOut, r.leftOut = r.leftOut, 0
	r.written++
	return leftOut, true
}

// Add writes a line to a logger. It drops the line if too many wait.
func (j *Journal) Add(to *slog.Logger, level slog.Level, message string, args []any) {
	record := slog.NewRecord(j.Clock.Now(), level, message, 0)
	record.Add(args...)
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.lines) >= maxLines {
		j.dropped++
		return
	}
	j.lines = append(j.lines, line{record, to})
	if j.idle == nil {
		j.idle = make(chan struct{})
		go j.run(j.idle)
	}
}

// run is the goroutine. Only a handler that blocks makes it outlive Close.
func (j *Journal) run(idle chan struct{}) {
	defer close(idle)
	for {
		lines := j.take()
		if len(lines) == 0 {
			return
		}
		for _, one := range lines {
			if h := one.logger.Handler(); h.Enabled(context.Background(), one.Level) {
				_ = h.Handle(context.Background(), one.Record)
			}
		}
	}
}

// take removes and returns the waiting lines. If there are none, it records that the goroutine ends.
func (j *Journal) take() []line {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	if j.dropped > 0 {
		record := slog.NewRecord(j.Clock.Now(), slog.LevelWarn, "redlock: the logger is slow; lines were dropped", 0)
		record.Add("lines", j.dropped)
		// A line is dropped only while others wait, so there is a first one.
		lines, j.dropped = append(lines, line{record, lines[0].logger}), 0
	}
	if len(lines) == 0 {
		j.idle = nil
	}
	return lines
}

// Close waits until the lines are written, at most until the deadline.
func (j *Journal) Close(deadline time.Time) {
	j.mu.Lock()
	idle := j.idle
	j.mu.Unlock()
	if idle == nil {
		return
	}
	elapsed := make(chan struct{})
	timer := j.Clock.AfterFunc(deadline.Sub(j.Clock.Now()), func() { close(elapsed) })
	defer timer.Stop()
	select {
	case <-idle:
	case <-elapsed:
	}
}
