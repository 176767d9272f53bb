package wire

import (
	"slices"
	"strings"
	"time"
)

const (
	// A master that refuses releases is sent one of them after repeatAfter, then at doubling intervals up to
	// refusalMax.
	refusalMax = time.Second
	// maxReasons is how many reasons have groups of their own. All further reasons share one.
	maxReasons = 16
	// againBatch bounds how many refused calls are sent again at once: the calls of other locks queue behind them.
	againBatch = 256
)

// refusals are the durable calls that the master answered with an error, grouped by the reason. One call of each group
// at a time is retried, with backoff. Once the master executes it, the rest of the group is sent, too. So an idle
// client sends a master only a few commands per second, however many releases the master refuses.
//
// There may be very many. No method looks at all of them: a call that needs no retry any more is dropped when
// it is the first of its group, or when the group has doubled.
type refusals map[string]*refusal

// refusal is one reason for which the master refuses releases.
type refusal struct {
	err      error         // the first error reply with this reason
	waiting  []*Call       // the refused calls, apart from retrying, in the order of their refusal
	sweepAt  int           // how many may wait before all of them are looked at
	retrying *Call         // the call that is being sent again; nil: none
	retryAt  time.Time     // when the next retry is due
	backoff  time.Duration // between two retries
}

// reasonOf returns the beginning of an error reply that is the same for every request: the error code, or three words.
func reasonOf(err error) string {
	words := strings.Fields(err.Error())
	if len(words) > 0 && words[0] != "ERR" {
		return words[0]
	}
	return strings.Join(words[:min(len(words), 3)], " ")
}

// refuse records that the master refused a durable call. It reports whether the reason is new.
func (rs *refusals) refuse(c *Call, err error, now time.Time) (isNew bool) {
	for _, r := range *rs {
		if r.retrying == c {
			r.retrying, r.backoff = nil, min(2*r.backoff, refusalMax)
			r.retryAt = now.Add(r.backoff)
		}
	}
	reason := reasonOf(err)
	if (*rs)[reason] == nil && len(*rs) >= maxReasons {
		reason = ""
	}
	r := (*rs)[reason]
	if isNew = r == nil; isNew {
		if *rs == nil {
			*rs = make(refusals)
		}
		r = &refusal{err: err, retryAt: now.Add(repeatAfter), backoff: repeatAfter}
		(*rs)[reason] = r
	}
	if len(r.waiting) >= r.sweepAt {
		r.waiting = slices.DeleteFunc(r.waiting, func(c *Call) bool { return c.needsNoRetry(now) })
		r.sweepAt = max(againBatch, 2*len(r.waiting))
	}
	r.waiting = append(r.waiting, c)
	return isNew
}

// accept records that the master executed the durable call c. It returns the calls to send again, since the master may
// execute them now, too, and the errors that it no longer returns. If a group is large, the last of the calls to send
// again is its next retry, so that the rest follows.
func (rs refusals) accept(c *Call, now time.Time) (again []*Call, over []error) {
	for reason, r := range rs {
		r.dropNeedless(now)
		switch {
		case r.retrying != c && (r.retrying != nil || len(r.waiting) > 0):
		case len(r.waiting) > againBatch:
			batch := r.take(againBatch)
			again, r.retrying, r.backoff = append(again, batch...), batch[againBatch-1], repeatAfter
		default:
			again, over = append(again, r.waiting...), append(over, r.err)
			delete(rs, reason)
		}
	}
	return again, over
}

// due picks a call to retry for each reason whose retry time has come. It returns these calls.
func (rs refusals) due(now time.Time) (calls []*Call) {
	for _, r := range rs {
		r.dropNeedless(now)
		if r.retrying == nil && len(r.waiting) > 0 && !now.Before(r.retryAt) {
			r.retrying = r.take(1)[0]
			calls = append(calls, r.retrying)
		}
	}
	return calls
}

// dropNeedless drops the retry if its keys have certainly expired, and the first calls that need no retry. If any call
// is left, the first one needs a retry.
func (r *refusal) dropNeedless(now time.Time) {
	if r.retrying != nil && r.retrying.expired(now) {
		r.retrying = nil
	}
	for len(r.waiting) > 0 && r.waiting[0].needsNoRetry(now) {
		r.take(1)
	}
}

// take removes the first n waiting calls and returns them. It moves none of the others.
func (r *refusal) take(n int) []*Call {
	first := slices.Clone(r.waiting[:n])
	clear(r.waiting[:n])
	r.waiting = r.waiting[n:]
	return first
}

// needsNoRetry reports whether the keys of a refused call have certainly expired, or were never set.
func (c *Call) needsNoRetry(now time.Time) bool { return c.expired(now) || c.needless() }

// next returns when the next retry is due, or the zero time if none is. If calls wait behind a retry, the next one is
// due when the keys of that retry expire: it gets no reply if it is still in the queue then.
func (rs refusals) next() (next time.Time) {
	for _, r := range rs {
		switch {
		case len(r.waiting) == 0:
		case r.retrying == nil:
			next = earliest(next, r.retryAt)
		default:
			next = earliest(next, r.retrying.expiresAt())
		}
	}
	return next
}

// count returns how many refused calls wait, without those that are being retried. It may count calls whose keys have
// expired.
func (rs refusals) count() (n int) {
	for _, r := range rs {
		n += len(r.waiting)
	}
	return n
}
