package wire

import (
	"slices"
	"time"
)

const (
	// A call that broke a connection as its only call is sent again after aloneMin, then at doubling intervals up to
	// aloneMax.
	aloneMin = 500 * time.Millisecond
	aloneMax = 8 * time.Second
	// recoveryTimeout is the shortest time for which a recovery connection may be silent before it is closed.
	recoveryTimeout = 2 * time.Second
)

// recovery repeats the durable calls that a broken connection left unanswered: the orphans. Any of them may have broken
// the connection, because a server closes the connection at a request that is too large, and a proxy at one that it
// forbids. So orphans never go over the shared connection again, but over a recovery connection. There is at most one
// at a time, and its failures do not make the master suspect.
//
// The first recovery connection carries all orphans in one batch, which is enough after a network fault. If it breaks,
// too, the first unanswered call is the likely cause, because a server answers in order. That call goes to the end of
// the queue, and the next batch is half as large. A call that breaks a connection as its only call is sent alone from
// then on, with backoff, after all other calls.
//
// This type decides what to send when; recover.go sends it.
type recovery struct {
	orphans        []orphan      // the calls to send, in order
	sent           []*Call       // the unanswered calls of the current batch
	sentBrokeAlone int           // brokeAlone of the only call in sent; 0 if sent is a batch
	size           int           // how many calls the next batch may have
	retryAt        time.Time     // when the next connection may be made
	backoff        time.Duration // between two connections
}

// orphan is a durable call that a connection left unanswered.
type orphan struct {
	call       *Call
	brokeAlone int       // how many connections it broke as their only call
	due        time.Time // when it may be sent again
}

// next returns when the next orphan is due; ok is false if there is none.
func (r *recovery) next() (due time.Time, ok bool) {
	for i, o := range r.orphans {
		if i == 0 || o.due.Before(due) {
			due = o.due
		}
	}
	if due.Before(r.retryAt) {
		due = r.retryAt
	}
	return due, len(r.orphans) > 0
}

// add appends calls that a connection left unanswered.
func (r *recovery) add(calls []*Call) {
	for _, c := range calls {
		r.orphans = append(r.orphans, orphan{call: c})
	}
}

// connected records that the master answered a handshake at now. It has executed all that it received before, so the
// TTLs of the orphans' keys are running. Only the network may still deliver an acquire, for as long as lateDelivery
// explains.
func (r *recovery) connected(now time.Time) {
	for _, o := range r.orphans {
		o.call.expireAt(now.Add(maxRTO + initialRTO + o.call.KeyTTL))
	}
}

// dropExpired drops the orphans whose keys have certainly expired.
func (r *recovery) dropExpired(now time.Time) {
	r.orphans = slices.DeleteFunc(r.orphans, func(o orphan) bool { return o.call.expired(now) })
}

// load moves the next batch from the orphans to sent and returns it: up to size calls that may share a connection, or
// if there are none, one call that must go alone.
func (r *recovery) load(now time.Time) []*Call {
	single := -1
	r.sentBrokeAlone = 0
	kept := r.orphans[:0]
	for _, o := range r.orphans {
		switch {
		case o.brokeAlone == 0 && len(r.sent) < r.size:
			r.sent = append(r.sent, o.call)
			continue
		case single < 0 && !o.due.After(now): // it must go alone; if the batch is full, single is not used
			single = len(kept)
		}
		kept = append(kept, o)
	}
	clear(r.orphans[len(kept):])
	r.orphans = kept
	if len(r.sent) == 0 && single >= 0 {
		r.sent, r.sentBrokeAlone = append(r.sent, r.orphans[single].call), r.orphans[single].brokeAlone
		r.orphans = slices.Delete(r.orphans, single, single+1)
	}
	return r.sent
}

// answered records that the master replied to a call of the batch: the next batch may be larger.
func (r *recovery) answered() { r.backoff, r.size = 0, min(2*r.size, maxBatch) }

// broke records that the connection ended with err before the last calls of a batch of n were answered. progress
// reports whether other calls of the batch were.
func (r *recovery) broke(calls []*Call, n int, progress bool, err error, now time.Time) {
	if len(calls) == 0 {
		return
	}
	if n == 1 {
		wait := min(aloneMin<<min(r.sentBrokeAlone, 8), aloneMax)
		r.orphans = append(r.orphans, orphan{call: calls[0], brokeAlone: r.sentBrokeAlone + 1, due: now.Add(wait)})
		return
	}
	r.size = max(1, n/2)
	if !progress {
		r.waitLonger(err, now)
	}
	r.putBack(calls[1:])
	r.orphans = append(r.orphans, orphan{call: calls[0]})
}

// putBack puts calls at the head of the queue, in order.
func (r *recovery) putBack(calls []*Call) {
	first := make([]orphan, len(calls), len(calls)+len(r.orphans))
	for i, c := range calls {
		first[i] = orphan{call: c}
	}
	r.orphans = append(first, r.orphans...)
}

// waitLonger doubles the backoff after a failure with err, and postpones the next connection by it.
func (r *recovery) waitLonger(err error, now time.Time) {
	r.backoff = longer(r.backoff, err)
	r.retryAt = now.Add(r.backoff)
}

// calls returns the unanswered calls of the current batch and those of the orphans.
func (r *recovery) calls() []*Call {
	all := append(make([]*Call, 0, len(r.orphans)+len(r.sent)), r.sent...)
	for _, o := range r.orphans {
		all = append(all, o.call)
	}
	return all
}
