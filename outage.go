package redlock

import (
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

// outageAfter is how long no majority answers before the journal says that calls wait for it.
const outageAfter = 1500 * time.Millisecond

// outage says once, for all calls and all locks of a Locker, that no majority of the masters answers.
type outage struct {
	present atomic.Bool // the last attempt of a waiting call found no majority

	mu     sync.Mutex
	reason error       // of that attempt
	timer  clock.Timer // says it; nil: not set
	said   bool

	failing     int  // held locks whose last extension failed
	saidFailing bool // and that it did so because of a missing right
	saidRight   bool
}

// noteAttempt records how an attempt of a call that waits, which took that long, ended.
func (l *Locker) noteAttempt(took time.Duration, err error) {
	o := &l.outage
	var permanent *quorum.PermanentError
	switch {
	case errors.Is(err, ErrNoQuorum) && !errors.As(err, &permanent): // a permanent error ends the wait
		o.mu.Lock()
		defer o.mu.Unlock()
		o.reason = err
		if !o.present.Swap(true) {
			o.timer = l.cfg.clock.AfterFunc(max(0, outageAfter-took), l.sayOutage)
		}
	case o.present.Load() && (err == nil || errors.Is(err, ErrHeld)):
		o.mu.Lock()
		defer o.mu.Unlock()
		o.present.Store(false)
		o.timer.Stop()
		if o.said {
			l.journal.log(slog.LevelInfo, "redlock: a majority of the masters answers again")
		}
		o.said = false
	}
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

// noteExtension records how an extension of a held lock ended, and reports it. before says whether the one before it
// failed, too.
func (l *Locker) noteExtension(lock *Lock, before bool, err error) {
	o := &l.outage
	_, held := l.activity.present()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil && before:
		if o.failing--; o.failing == 0 && o.saidFailing {
			l.journal.repeat(slog.LevelInfo, "", "redlock: locks are extended again")
			o.saidFailing, o.saidRight = false, false
		}
		return
	case err == nil:
		return
	case !before:
		o.failing++
	}
	right := refusesForGood(err)
	if o.saidFailing && (o.saidRight || !right) {
		return
	}
	o.saidFailing, o.saidRight = true, right
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
