package wire

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	// repeatAfter is the shortest time after which a release is sent again: one that the master refused, one that broke
	// its connection, and one that may have arrived before the acquire that it undoes. For the first two the time
	// doubles with each failure in a row, up to repeatMax; for the last one see [lateDelivery].
	repeatAfter = 500 * time.Millisecond
	repeatMax   = time.Second
	// maxOwed is the largest limit of a lane: the calls of other locks wait for what a lane sends at once.
	maxOwed = 256
	// maxReasons is how many texts of refusals have lanes of their own. All further texts share one.
	maxReasons = 16
)

// laneKey is why the calls of a lane must be sent again.
type laneKey struct {
	cause cause
	text  string // of owedRefused, see reasonOf
}

type cause uint8

const (
	owedRefused    cause = iota // the master answered it with an error
	owedLate                    // it may have overtaken an operation that it undoes, see [lateDelivery]
	owedUnanswered              // its connection ended before the answer, or the spare one did not get it executed
	owedBreaker                 // the first without an answer when a spare one ended: it probably breaks connections
)

// onlySpare reports whether the calls may only go over the spare connection. Any call without an answer may have broken
// its connection, because a server closes the connection at a request that is too large, and a proxy at one that it
// forbids. So it must not go over the main connection again. A server answers in order, so the first call without an
// answer is the likely cause.
func (c cause) onlySpare() bool { return c == owedUnanswered || c == owedBreaker }

// outbox has the durable calls that must be sent again, in a lane for each reason. A call that certainly was not
// executed, because its script is not known or the connection ended first, is here only if the spare connection carried
// it (owedUnanswered). Over the main connection, such a call goes back to the head of the queue; see [inflight].
//
// How many calls a lane sends at once depends on the cause:
//
//   - owedRefused, owedBreaker: at first one; one again after each failure, with backoff;
//   - owedUnanswered: at first maxOwed; after each failure half of the failed batch, with backoff once that is one
//     call;
//   - owedLate: all that are due.
//
// Each success doubles the number, up to maxOwed. So however many releases fail, an idle client sends a master only a
// few commands per second and makes only a few connections. There may be very many: no method looks at all of the
// refused ones, except that a lane whose length has doubled drops the calls that need not be sent any more.
type outbox []*lane

// lane has the calls that must be sent again for one reason.
type lane struct {
	key       laneKey
	err       error         // of owedRefused: the first error reply with this reason
	calls     []owed        // in the order in which they are due
	sweepAt   int           // how many calls there may be before all of them are looked at
	lastTried *Call         // of owedRefused: the last call of the batch that is being sent; nil: none is
	limit     int           // how many calls may be sent at once; 0, of owedLate: all that are due
	due       time.Time     // when the next may be sent
	backoff   time.Duration // after the last failure
}

// owed is a call that must be sent again.
type owed struct {
	call *Call
	due  time.Time
}

// reasonOf returns the beginning of an error reply that is the same for every request: the error code, or three words.
func reasonOf(err error) string {
	words := strings.Fields(err.Error())
	if len(words) > 0 && words[0] != "ERR" {
		return words[0]
	}
	return strings.Join(words[:min(len(words), 3)], " ")
}

// lane returns the lane with that key, which it adds if there is none.
func (o *outbox) lane(key laneKey, now time.Time) (l *lane, isNew bool) {
	for _, l := range *o {
		if l.key == key {
			return l, false
		}
	}
	l = &lane{key: key}
	switch key.cause {
	case owedUnanswered:
		l.limit = maxOwed
	case owedRefused, owedBreaker:
		l.failed(now)
	}
	*o = append(*o, l)
	return l, true
}

// owe adds calls that must be sent again at due.
func (o *outbox) owe(why cause, due, now time.Time, calls ...*Call) {
	if len(calls) > 0 {
		l, _ := o.lane(laneKey{cause: why}, now)
		l.add(due, now, calls...)
	}
}

// refused records that the master refused a durable call. It reports whether the reason is new.
func (o *outbox) refused(c *Call, err error, now time.Time) (isNew bool) {
	for _, l := range *o {
		if l.lastTried == c {
			l.failed(now)
		}
	}
	l, isNew := o.lane(o.refusedKey(err), now)
	if isNew {
		l.err = err
	}
	l.add(now, now, c)
	return isNew
}

// refusedKey returns the key of the lane for calls that were refused with err.
func (o outbox) refusedKey(err error) laneKey {
	key, texts := laneKey{cause: owedRefused, text: reasonOf(err)}, 0
	for _, l := range o {
		if l.key == key {
			return key
		}
		if l.key.cause == owedRefused {
			texts++
		}
	}
	if texts >= maxReasons {
		key.text = "" // the lane that all further texts share
	}
	return key
}

// executed records that the master executed the durable call c. It returns the errors that the master no longer
// returns.
func (o *outbox) executed(c *Call, now time.Time) (over []error) {
	if len(*o) == 0 {
		return nil // the hot path
	}
	isOver := func(l *lane) bool { return l.err != nil && l.lastTried == nil && len(l.calls) == 0 }
	for _, l := range *o {
		l.drop(now)
		if l.lastTried == c {
			l.succeeded()
		}
		if isOver(l) {
			over = append(over, l.err)
		}
	}
	*o = slices.DeleteFunc(*o, isOver)
	return over
}

// broke records that the spare connection ended before the last calls of a batch of n were answered. A lane of
// unanswered calls then sends half as many: a link may not report which were answered, so the first of unanswered need
// not be the one that broke the connection.
func (o *outbox) broke(l *lane, n int, unanswered []*Call, now time.Time) {
	if l.limit == 1 || l.key.cause == owedBreaker {
		l.failed(now)
	} else {
		l.limit = max(1, n/2)
	}
	l.add(now, now, unanswered[1:]...)
	o.owe(owedBreaker, now, now, unanswered[0])
}

// takeMain removes the calls that may go over the main connection now, and returns them.
func (o outbox) takeMain(now time.Time) (calls []*Call) {
	for _, l := range o {
		if !l.key.cause.onlySpare() {
			calls = append(calls, l.take(now)...)
		}
	}
	return calls
}

// drop drops calls that need not be sent any more, at least those that would be next.
func (o outbox) drop(now time.Time) {
	for _, l := range o {
		l.drop(now)
	}
}

// takeSpare removes the calls of one lane that may go over the spare connection now, and returns them.
func (o outbox) takeSpare(now time.Time) (l *lane, calls []*Call) {
	for _, l := range o {
		if l.key.cause.onlySpare() {
			if calls := l.take(now); len(calls) > 0 {
				return l, calls
			}
		}
	}
	return nil, nil
}

// dueMain returns when the next call is due over the main connection; the zero time if none is.
func (o outbox) dueMain() time.Time { return o.dueOver(false) }

// dueSpare returns when the next call is due over the spare connection; the zero time if none is.
func (o outbox) dueSpare() time.Time { return o.dueOver(true) }

func (o outbox) dueOver(spare bool) (next time.Time) {
	for _, l := range o {
		if l.key.cause.onlySpare() == spare {
			next = earliest(next, l.next())
		}
	}
	return next
}

// countMain returns how many calls wait for the main connection. It may count calls whose keys have expired.
func (o outbox) countMain() (n int) {
	for _, l := range o {
		if !l.key.cause.onlySpare() {
			n += len(l.calls)
		}
	}
	return n
}

// orphans yields the calls that wait for the spare connection. They may have no vote yet.
func (o outbox) orphans(yield func(*Call) bool) {
	for _, l := range o {
		if !l.key.cause.onlySpare() {
			continue
		}
		for _, w := range l.calls {
			if !yield(w.call) {
				return
			}
		}
	}
}

// add adds calls that are due at due, after those that are due then already.
func (l *lane) add(due, now time.Time, calls ...*Call) {
	for _, c := range calls {
		if len(l.calls) >= l.sweepAt {
			l.calls = slices.DeleteFunc(l.calls, func(w owed) bool { return w.call.isMoot(now) })
			l.sweepAt = max(maxOwed, 2*len(l.calls))
		}
		i, _ := slices.BinarySearchFunc(l.calls, due, func(w owed, due time.Time) int {
			return cmp.Or(w.due.Compare(due), -1)
		})
		l.calls = slices.Insert(l.calls, i, owed{c, due})
	}
}

// take removes the calls that may be sent now and returns them. It moves none of the others.
func (l *lane) take(now time.Time) (calls []*Call) {
	l.drop(now)
	if l.lastTried != nil || now.Before(l.due) {
		return nil
	}
	for len(l.calls) > 0 && !l.calls[0].due.After(now) && (len(calls) < l.limit || l.limit == 0) {
		calls = append(calls, l.calls[0].call)
		l.dropFirst()
	}
	if l.key.cause == owedRefused && len(calls) > 0 {
		l.lastTried = calls[len(calls)-1]
	}
	return calls
}

// drop drops calls that need not be sent any more: lastTried, and those at the head. Afterwards the first call, if
// there is one, still has to be sent.
func (l *lane) drop(now time.Time) {
	if l.lastTried != nil && l.lastTried.isMoot(now) {
		l.lastTried = nil // the queue may have dropped it, and then no reply resets this
	}
	for len(l.calls) > 0 && l.calls[0].call.isMoot(now) {
		l.dropFirst()
	}
}

func (l *lane) dropFirst() {
	l.calls[0] = owed{}
	l.calls = l.calls[1:]
}

// next returns when the next call is due; the zero time if none is.
func (l *lane) next() time.Time {
	switch {
	case len(l.calls) == 0:
		return time.Time{}
	case l.lastTried != nil:
		return l.lastTried.expiresAt()
	default:
		return later(l.calls[0].due, l.due)
	}
}

// succeeded records that the last calls that were sent again were answered.
func (l *lane) succeeded() {
	l.lastTried, l.backoff, l.due, l.limit = nil, 0, time.Time{}, min(2*l.limit, maxOwed)
}

// failed records that a call of the lane failed again, or, in a new lane, the first failure.
func (l *lane) failed(now time.Time) {
	l.lastTried, l.limit, l.backoff = nil, 1, min(max(2*l.backoff, repeatAfter), repeatMax)
	l.due = now.Add(l.backoff)
}
