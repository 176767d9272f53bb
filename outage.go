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

// outageAfter is how long an outage lasts before the journal reports it.
const outageAfter = 1500 * time.Millisecond

// outageForgotten is how long after retryBy an outage is over if no waiting call has tried again.
const outageForgotten = time.Minute

// outage is a time in which no majority of the masters answers. The journal reports it once, for all calls of a Locker.
type outage struct {
	ongoing atomic.Bool // it began when an attempt of a waiting call found no majority

	mu      sync.Mutex
	reason  error       // of that attempt
	retryBy time.Time   // by when every call that found no majority has tried again
	timer   clock.Timer // says it; nil: not set
	said    bool
}

// failingExtensions says once, for all locks of a Locker, that they cannot be extended.
type failingExtensions struct {
	mu            sync.Mutex
	locks         int  // held locks whose last extension failed
	said          bool // the journal says so
	saidPermanent bool // and that an operator must act
}

// noteAttempt records how an attempt ended. took is how long it took.
func (c *call) noteAttempt(took time.Duration, err error) {
	l := c.locker
	if err == nil {
		l.endOutage()
		return
	}
	var denied *quorum.DeniedError
	switch {
	case errors.Is(err, quorum.ErrTooLate): // because of WithMaxHold perhaps, or of a pause of this process
	case errors.Is(err, ErrNoQuorum):
		if !c.try {
			l.noteOutage(took, c.cfg.retryMax, err)
		}
	case errors.As(err, &denied) && !denied.ByFirst: // the first master alone is no majority
		l.endOutage()
	}
}

// noteOutage records that no majority answered an attempt, after which its call waits for retryMax at most. A permanent
// error ends the wait, so it does not count.
func (l *Locker) noteOutage(took, retryMax time.Duration, err error) {
	var permanent *quorum.PermanentError
	if errors.As(err, &permanent) {
		return
	}
	o := &l.outage
	o.mu.Lock()
	defer o.mu.Unlock()
	now := l.cfg.clock.Now()
	began := now.Add(-took)
	fresh := !o.ongoing.Swap(true) || began.Sub(o.retryBy) > outageForgotten // it begins another outage
	if by := now.Add(retryMax); fresh || by.After(o.retryBy) {
		o.retryBy = by
	}
	o.reason = err
	if fresh {
		o.timer = l.cfg.clock.AfterFunc(max(0, outageAfter-took), l.sayOutage)
	}
}

// endOutage records that a majority answered an attempt or a probe.
func (l *Locker) endOutage() {
	o := &l.outage
	if !o.ongoing.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ongoing.Store(false)
	o.timer.Stop()
	if o.said {
		l.journal.Log(slog.LevelInfo, "redlock: a majority of the masters answers again")
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
	case !o.ongoing.Load() || l.isEnding():
	case waiting == 0:
		o.ongoing.Store(o.said) // an outage that was not reported is over; one that was lasts until a majority answers
	default:
		const message = "redlock: waiting, since no majority of the masters answers"
		if leftOut, ok := l.journal.MayRepeat(message); ok && l.cfg.outageLogger() != nil {
			o.said = true
			args := []any{"calls", waiting, "error", o.reason}
			if leftOut > 0 {
				args = append(args, "left_out", leftOut)
			}
			l.journal.Add(l.cfg.outageLogger(), slog.LevelWarn, message, args)
		}
	}
}

// noteExtension records how an extension of a held lock ended, and reports it. failedBefore says whether the previous
// extension of the lock failed.
func (l *Locker) noteExtension(lock *Lock, failedBefore bool, err error) {
	f := &l.failing
	_, held := l.activity.present()
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil && failedBefore:
		if f.locks--; f.locks == 0 && f.said {
			l.journal.Repeat(slog.LevelInfo, "", "redlock: locks are extended again")
			f.said, f.saidPermanent = false, false
		}
		return
	case err == nil:
		return
	case !failedBefore:
		f.locks++
	}
	permanent := anyPermanent(err)
	if f.said && (f.saidPermanent || !permanent) {
		return
	}
	f.said, f.saidPermanent = f.locks > 0, permanent // locks is 0 if the lock has ended since recordExtension
	l.journal.Repeat(slog.LevelWarn, "", "redlock: locks could not be extended yet",
		"locks", held, "name", names.List(lock.names(), names.Truncate), "until", lock.Until(), "error", err)
}

// noteEndOfFailing records that a lock ended whose last extension failed.
func (l *Locker) noteEndOfFailing() {
	f := &l.failing
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.locks--; f.locks == 0 {
		f.said, f.saidPermanent = false, false
	}
}

// anyPermanent reports whether a master failed with an error that only an operator can fix.
func anyPermanent(err error) bool {
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
