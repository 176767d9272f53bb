package redlock

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

const (
	// maxJournal bounds the lines that wait for a handler. Later lines are dropped and counted.
	maxJournal = 1 << 16
	// A line that repeats an event of one master, or of all locks, is written up to maxRepeats times in repeatWindow.
	maxRepeats   = 20
	repeatWindow = time.Minute
)

// journal passes lines to the logger in order, from a goroutine that runs while there are any. A handler may block: it
// must delay no lock, no extension, no loss and no Close.
type journal struct {
	logger *slog.Logger // nil: lines are discarded
	clock  clock.Clock

	mu      sync.Mutex
	lines   []line
	dropped int
	idle    chan struct{} // closed when the goroutine ends; nil: it does not run
	repeats map[string]*repeats
}

// line is one record, for the logger of the journal unless it has its own.
type line struct {
	slog.Record
	logger *slog.Logger
}

// repeats counts a repeated line.
type repeats struct {
	since            time.Time
	written, leftOut int
}

// log writes a line.
func (j *journal) log(level slog.Level, message string, args ...any) {
	if j.logger != nil {
		j.add(j.logger, level, message, args)
	}
}

// repeat is log for an event that may happen again without end. Lines with the same message and key are one event.
func (j *journal) repeat(level slog.Level, key, message string, args ...any) {
	if j.logger == nil {
		return
	}
	leftOut, ok := j.mayRepeat(key + message)
	if !ok {
		return
	}
	if leftOut > 0 {
		args = append(args, "left_out", leftOut)
	}
	j.add(j.logger, level, message, args)
}

// mayRepeat reports whether an event may be written again, and how often it was left out since it last was.
func (j *journal) mayRepeat(event string) (leftOut int, ok bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now := j.clock.Now()
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

func (j *journal) add(to *slog.Logger, level slog.Level, message string, args []any) {
	if to == nil {
		return
	}
	record := slog.NewRecord(j.clock.Now(), level, message, 0)
	record.Add(args...)
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.lines) >= maxJournal {
		j.dropped++
		return
	}
	j.lines = append(j.lines, line{record, to})
	if j.idle == nil {
		j.idle = make(chan struct{})
		go j.run(j.idle)
	}
}

// run is the journal's goroutine. Only a handler that blocks makes it outlive the Locker.
func (j *journal) run(idle chan struct{}) {
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

// take removes the waiting lines. If there are none, the goroutine ends.
func (j *journal) take() []line {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	if j.dropped > 0 {
		record := slog.NewRecord(j.clock.Now(), slog.LevelWarn, "redlock: the logger is slow; lines were dropped", 0)
		record.Add("lines", j.dropped)
		lines, j.dropped = append(lines, line{record, lines[0].logger}), 0
	}
	if len(lines) == 0 {
		j.idle = nil
	}
	return lines
}

// close waits until the lines are written, at most until the deadline.
func (j *journal) close(deadline time.Time) {
	j.mu.Lock()
	idle := j.idle
	j.mu.Unlock()
	if idle == nil {
		return
	}
	over := make(chan struct{})
	timer := j.clock.AfterFunc(deadline.Sub(j.clock.Now()), func() { close(over) })
	defer timer.Stop()
	select {
	case <-idle:
	case <-over:
	}
}
