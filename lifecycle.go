package redlock

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redlock-go/redlock/internal/keepalive"
	"github.com/redlock-go/redlock/internal/names"
	"github.com/redlock-go/redlock/quorum"
)

// phase is a state in the life of a Lock:
//
//	held ── lose ──▶ lingering ── clear, close ──▶ cleared ── unlock ──▶ released
//	                 lingering ── unlock ──▶ released
//	held ── unlock ──▶ unlocked ── giveBack ──▶ released
//	                   unlocked ── handOver ──▶ handedOver
//	held ── close ──▶ closed
//
// All other pairs of a phase and an event change nothing, or are impossible; see transitions.
type phase uint8

const (
	phaseHeld       phase = iota // the holder has the lock
	phaseLingering               // it was lost; its keys remain on the masters until Until, Unlock or Close
	phaseCleared                 // it was lost, and the release of its keys begins next
	phaseUnlocked                // Unlock ended it, and is about to hand its lease over or to release it
	phaseHandedOver              // the next holder has its lease
	phaseReleased                // Unlock was called, and the release of its keys begins next, unless it began before
	phaseClosed                  // its Locker was closed, and the release of its keys begins next
	phases                       // their number
	impossible                   // follows a phase at an event that cannot happen in it
)

func (p phase) String() string {
	return [...]string{"held", "lingering", "cleared", "unlocked", "handedOver", "released", "closed"}[p]
}

// event is what happens to a Lock.
type event uint8

const (
	eventLose     event = iota // its deadline passed, or a majority no longer has its token
	eventClear                 // after it was lost: its Until has passed, or its Locker is closing
	eventUnlock                // Unlock was called
	eventHandOver              // the next holder took its lease over
	eventGiveBack              // no next holder takes its lease over
	eventClose                 // its Locker is closed
	events                     // their number
)

func (e event) String() string {
	return [...]string{"lose", "clear", "unlock", "handOver", "giveBack", "close"}[e]
}

// transitions has the phase that follows each phase at each event.
var transitions = [phases][events]phase{
	phaseHeld: {
		eventLose: phaseLingering, eventUnlock: phaseUnlocked, eventClose: phaseClosed,
		eventClear: impossible, eventHandOver: impossible, eventGiveBack: impossible,
	},
	phaseLingering: {
		eventLose: phaseLingering, eventClear: phaseCleared, eventUnlock: phaseReleased, eventClose: phaseCleared,
		eventHandOver: impossible, eventGiveBack: impossible,
	},
	phaseCleared: {
		eventLose: phaseCleared, eventClear: phaseCleared, eventUnlock: phaseReleased, eventClose: phaseCleared,
		eventHandOver: impossible, eventGiveBack: impossible,
	},
	phaseUnlocked: {
		eventLose: phaseUnlocked, eventUnlock: phaseUnlocked, eventClose: phaseUnlocked,
		eventHandOver: phaseHandedOver, eventGiveBack: phaseReleased,
		eventClear: impossible,
	},
	phaseHandedOver: {
		eventLose: phaseHandedOver, eventUnlock: phaseHandedOver, eventClose: phaseHandedOver,
		eventClear: impossible, eventHandOver: impossible, eventGiveBack: impossible,
	},
	phaseReleased: {
		eventLose: phaseReleased, eventUnlock: phaseReleased, eventClose: phaseReleased,
		eventClear:    phaseReleased, // Unlock came between the loss and eventClear
		eventHandOver: impossible, eventGiveBack: impossible,
	},
	phaseClosed: {
		eventLose: phaseClosed, eventUnlock: phaseClosed, eventClose: phaseClosed,
		eventClear: impossible, eventHandOver: impossible, eventGiveBack: impossible,
	},
}

// change is an event with its details.
type change struct {
	event event
	cause error       // eventLose, eventUnlock, eventClose: the error with which a held lock ends
	how   releaseMode // eventGiveBack
}

// releaseMode is how a lock is released.
type releaseMode struct {
	keepUntil time.Time   // until when the names stay taken; zero: they are free at once
	silent    bool        // the release is not published; see [waitqueue.Silently]. Never with keepUntil, see queuePolicy
	done      func(error) // receives the result of the release; nil: no goroutine waits for it
}

// transition moves the lock to the phase that follows, carries out the effects, and returns the phase before. Every
// event that can happen to a held lock ends it for its holder. transition panics if the event cannot happen in the
// lock's phase.
func (l *Lock) transition(c change) (before phase) {
	l.mu.Lock()
	before = l.phase
	after := transitions[before][c.event]
	if after == impossible {
		l.mu.Unlock()
		panic(fmt.Sprintf("redlock: %v of a lock that is %v", c.event, before))
	}
	l.phase = after
	if before == phaseHeld {
		l.err, l.endedUntil = c.cause, l.lease.Until().Sub(l.locker.opened)
		if r := l.rare; r != nil && len(r.failed) > 0 {
			defer l.locker.noteEndOfFailing() // deferred, to run without mu
		}
		if r := l.rare; r != nil && r.cancel != nil {
			r.cancel(c.cause) // with mu held: the context has ended when Unlock or Err reports the end
		}
	}
	l.mu.Unlock()
	if after != before {
		l.effects(before, after, c)
	}
	return before
}

// effects carries out what follows from a change of phase.
func (l *Lock) effects(before, after phase, c change) {
	switch {
	case after == phaseLingering: // in place, so that a Close that comes meanwhile finds the lock
		if !l.locker.schedule.Linger(&l.renewal) {
			defer l.transition(change{event: eventClear})
		}
	case before == phaseHeld || before == phaseLingering: // only these are scheduled
		l.locker.schedule.Remove(&l.renewal)
	}
	defer l.settleKeys(before, after, c) // also if a hook panics
	if o := holdOutcomes[after]; o != "" && (before == phaseHeld || before == phaseUnlocked) {
		l.endHold(o)
	}
}

// holdOutcomes has the outcome of a hold by the phase that follows it.
var holdOutcomes = [phases]Outcome{
	phaseLingering: OutcomeLost, phaseClosed: OutcomeClosed, phaseHandedOver: OutcomeHandedOver,
	phaseReleased: OutcomeReleased,
}

// settleKeys lets the keys linger, releases them, or tells the queue that they are about to be released.
func (l *Lock) settleKeys(before, after phase, c change) {
	switch {
	case after == phaseLingering: // held before
		l.logLoss()
	case before == phaseLingering: // cleared or released now
		l.release(releaseMode{})
	case before == phaseCleared: // released now
		l.hold.Lost() // the goroutine that cleared it may not have submitted the release yet; a TryLock waits for that
	case after == phaseClosed: // held before
		l.release(releaseMode{keepUntil: l.minHoldEnd()})
	case after == phaseReleased: // unlocked before
		l.release(c.how)
	}
}

// logLoss logs the loss of the lock. Its keys remain on the masters until Until, Unlock or Close: the holder may rely
// on Until, because the goroutine that is to notice the loss may not run in time.
func (l *Lock) logLoss() {
	l.locker.journal.Log(slog.LevelWarn, "redlock: a lock was lost",
		"name", names.List(l.names(), names.Truncate), "error", l.endError())
}

// release submits the release, and then gives the turn to the next waiter. The order matters: the waiter's request must
// reach the masters after the release. The release itself follows every extension, so no late extension restores the
// lock.
func (l *Lock) release(how releaseMode) {
	now := l.cfg.clock.Now()
	defer l.hold.Released(now, how.silent) // gives the turn, also if a callback panics
	decided := func(subscribers int64, err error) {
		if !how.silent && how.keepUntil.IsZero() {
			l.hold.Published(int(subscribers), now)
		}
		if how.done != nil {
			how.done(err)
		}
	}
	if !how.keepUntil.IsZero() {
		l.lease.Keep(how.keepUntil, decided)
		return
	}
	l.lease.Release(how.silent, decided)
}

// minHoldEnd returns the end of the minimum hold, plus the drift, because the masters' clocks may be faster. It returns
// the zero time without a minimum hold, after it, or if the caller does not have the lock yet.
func (l *Lock) minHoldEnd() time.Time {
	d := l.cfg.minHold
	if d == 0 || l.heldSince == 0 || l.heldFor() >= d {
		return time.Time{}
	}
	return l.locker.opened.Add(l.heldSince + d + l.cfg.drift.Of(d))
}

// abandon unlocks a lock that its caller never gets. It waits for no master.
func (l *Lock) abandon() {
	if l.transition(change{event: eventUnlock, cause: releasedError{l.claim}}) == phaseHeld {
		l.transition(change{event: eventGiveBack}) // without a minimum hold
	}
}

// expireIfDue ends the lock as lost if its deadline has passed.
func (l *Lock) expireIfDue() {
	if l.endError() == nil && l.lease.FreezeIfDue(0) {
		l.expire()
	}
}

// expire ends the lock as lost, because its deadline has passed.
func (l *Lock) expire() { l.transition(change{event: eventLose, cause: l.expiryError()}) }

// close ends the lock because its Locker is closed.
func (l *Lock) close() {
	l.transition(change{event: eventClose, cause: failed("lock", l.names(), ErrClosed)})
}

// endAsGone ends the lock as lost, because a majority no longer has its token.
func (l *Lock) endAsGone() {
	l.transition(change{event: eventLose, cause: failed("lock", l.names(), ErrLost, quorum.ErrGone)})
}

// extended records the result of an extension, by the keepalive or by Extend.
func (l *Lock) extended(err error) {
	l.mu.Lock()
	successor := l.successor
	l.mu.Unlock()
	if successor != nil {
		successor.extended(err) // the extension was requested before the hand-over
		return
	}
	defer l.locker.schedule.Renewed(&l.renewal, err) // also if a callback panics
	l.locker.activity.extension(l.kind(), err)
	switch { // before the callback: the loss must not wait for it
	case l.lease.Gone(): // which another extension may have found
		l.endAsGone()
	case errors.Is(err, quorum.ErrEnded):
		l.expireIfDue() // has no effect on a lock that was released
	default:
		l.recordExtension(err)
	}
	if errors.Is(err, quorum.ErrEnded) { // the lock had ended before the extension did; see Trace.Extended
		return
	}
	if t := l.cfg.trace; t != nil && t.Extended != nil {
		t.Extended(l.base, ExtendedEvent{Event: l.event(), Until: l.Until(), Err: err})
	}
}

// recordExtension records and reports how an extension of a held lock ended; err is nil if it succeeded. It keeps the
// errors of the masters, not ErrNoQuorum itself, which would say that the lock is held as before.
func (l *Lock) recordExtension(err error) {
	l.mu.Lock()
	held, failedBefore := l.phase == phaseHeld, l.rare != nil && len(l.rare.failed) > 0
	switch {
	case !held:
	case err != nil:
		l.rareOrNew().failed = NodeErrors(err)
	case failedBefore:
		l.rare.failed = nil
	}
	l.mu.Unlock()
	if held {
		l.locker.noteExtension(l, failedBefore, err)
	}
}

// event returns what the hold's events have in common.
func (l *Lock) event() Event { return Event{ID: l.id, Kind: Kind(l.kind().Name), Name: l.Name()} }

// endHold counts and traces the end of a lock, if its caller has got it.
func (l *Lock) endHold(o Outcome) {
	if l.heldSince == 0 {
		return
	}
	k, held := l.kind(), l.heldFor()
	l.locker.activity.holdEnd(k, o, held)
	if t := l.cfg.trace; t != nil && t.HoldEnd != nil {
		e := HoldEndEvent{Event: l.event(), Outcome: o, Held: held}
		if o == OutcomeLost || o == OutcomeClosed {
			e.Err = l.endError()
		}
		t.HoldEnd(l.base, e)
	}
}

// heldFor returns the time since the acquisition ended.
func (l *Lock) heldFor() time.Duration { return l.cfg.clock.Now().Sub(l.locker.opened) - l.heldSince }

// expiryLead is how long before its Until a lock is lost, so that the holder learns of the loss before Until, as far as
// its goroutines are scheduled.
const expiryLead = time.Millisecond

// scheduled is a Lock as the keepalive schedule sees it. Its methods are not part of Lock's API.
type scheduled Lock

var _ keepalive.Lock = (*scheduled)(nil)

// startKeepalive begins to extend the lock and to watch its deadline. If the Locker was closed meanwhile, the lock
// ends.
func (l *Lock) startKeepalive() {
	if !l.locker.schedule.Add(&l.renewal, (*scheduled)(l)) {
		l.close()
	}
}

func (l *scheduled) TTL() time.Duration { return l.cfg.terms.TTL }

func (l *scheduled) Renewable() bool { return l.cfg.keepalive && !l.lease.Capped() }

func (l *scheduled) Until() time.Time { return l.lease.Until() }

func (l *scheduled) FreezeIfDue(lead time.Duration) bool { return l.lease.FreezeIfDue(lead) }

func (l *scheduled) Renew() { l.lease.Extend((*Lock)(l).extended) }

func (l *scheduled) Expire() { (*Lock)(l).expire() }

func (l *scheduled) Clear() { (*Lock)(l).transition(change{event: eventClear}) }
