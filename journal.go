package redlock

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
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

// outageAfter is how long no majority answers before the journal says that calls wait for it.
const outageAfter = 1500 * time.Millisecond

// outageForgotten is how long no call meets an outage until the next call that finds no majority begins another one.
const outageForgotten = time.Minute

// outage says once, for all calls and all locks of a Locker, that no majority of the masters answers.
type outage struct {
	present atomic.Bool // the last attempt of a waiting call found no majority

	mu       sync.Mutex
	reason   error       // of that attempt
	lastSeen time.Time   // when it ended
	timer    clock.Timer // says it; nil: not set
	said     bool

	failing     int  // held locks whose last extension failed
	saidFailing bool // the journal says so
	saidRight   bool // and that a right is missing
}

// noteAttempt records how an attempt ended. took is how long it took.
func (l *Locker) noteAttempt(took time.Duration, try bool, err error) {
	if err == nil {
		l.endOutage()
		return
	}
	var denied *quorum.DeniedError
	switch {
	case errors.Is(err, ErrNoQuorum):
		if !try {
			l.noteOutage(took, err)
		}
	case errors.As(err, &denied) && !denied.ByFirst: // the first master alone is no majority
		l.endOutage()
	}
}

// noteOutage records that no majority answered an attempt. A permanent error ends the wait, so it does not count.
func (l *Locker) noteOutage(took time.Duration, err error) {
	var permanent *quorum.PermanentError
	if errors.As(err, &permanent) {
		return
	}
	o := &l.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	now := l.cfg.clock.Now()
	fresh := !o.present.Swap(true) || now.Sub(o.lastSeen) > outageForgotten
	o.reason, o.lastSeen = err, now
	if fresh {
		o.said = false
		o.timer = l.cfg.clock.AfterFunc(max(0, outageAfter-took), l.sayOutage)
	}
}

// endOutage records that a majority answered an attempt.
func (l *Locker) endOutage() {
	o := &l.outage
	if !o.present.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.present.Store(false)
	o.timer.Stop()
	if o.said {
		l.journal.log(slog.LevelInfo, "redlock: a majority of the masters answers again")
	}
	o.said = false
}

// sayOutage writes that calls wait, if they still do. It is the one line that a Locker without a logger writes.
func (l *Locker) sayOutage() {
	o := &l.outage
	waiting, _ := l.activity.present()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.present.Load() || l.isEnding():
	case waiting == 0:
		o.present.Store(false) // the next call begins another outage
	default:
		const message = "redlock: waiting, since no majority of the masters answers"
		if leftOut, ok := l.journal.mayRepeat(message); ok {
			o.said = true
			args := []any{"calls", waiting, "error", o.reason}
			if leftOut > 0 {
				args = append(args, "left_out", leftOut)
			}
			l.journal.add(l.cfg.outageLogger(), slog.LevelWarn, message, args)
		}
	}
}

// noteExtension records how an extension of a held lock ended, and reports it. failing says whether the one before it
// failed, too.
func (l *Locker) noteExtension(lock *Lock, failing bool, err error) {
	o := &l.outage
	_, held := l.activity.present()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil && failing:
		if o.failing--; o.failing == 0 && o.saidFailing {
			l.journal.repeat(slog.LevelInfo, "", "redlock: locks are extended again")
			o.saidFailing, o.saidRight = false, false
		}
		return
	case err == nil:
		return
	case !failing:
		o.failing++
	}
	right := refusesForGood(err)
	if o.saidFailing && (o.saidRight || !right) {
		return
	}
	o.saidFailing, o.saidRight = o.failing > 0, right // if not, the lock has ended since
	l.journal.repeat(slog.LevelWarn, "", "redlock: locks could not be extended yet",
		"locks", held, "name", names.List(lock.names(), names.Truncate), "until", lock.Until(), "error", err)
}

// noteEndOfFailing records that a lock ended whose last extension failed.
func (l *Locker) noteEndOfFailing() {
	l.outage.mu.Lock()
	defer l.outage.mu.Unlock()
	if l.outage.failing--; l.outage.failing == 0 {
		l.outage.saidFailing, l.outage.saidRight = false, false
	}
}

// refusesForGood reports whether a master failed with an error that only an operator can fix.
func refusesForGood(err error) bool {
	for _, failed := range NodeErrors(err) {
		if node.Permanent(failed.Err) {
			return true
		}
	}
	return false
}

// stop ends the timer.
func (o *outage) stop() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
}
