package wire

import (
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/node"
)

const (
	// A suspect master is tried again after retryMin, then at doubling intervals up to retryMax.
	retryMin = 20 * time.Millisecond
	retryMax = 500 * time.Millisecond
	// hangUpMax is retryMax for a master that accepts connections and ends each: it may do so for long.
	hangUpMax = 4 * time.Second
)

// longer returns the time to wait after another failure, with err, given that before it; 0: there was none.
func longer(backoff time.Duration, err error) time.Duration {
	most := retryMax
	if link.HungUp(err) {
		most = hangUpMax
	}
	return min(max(2*backoff, retryMin), most)
}

// health records whether a master can be asked. A master that fails is suspect until it answers: calls fail at once,
// and the master is tried again with backoff.
type health struct {
	suspect *node.SuspectError // how the master failed; nil: it is not suspect
	retryAt time.Time          // when a suspect master is tried again: by the driver or by a proof of the spare connection
	backoff time.Duration      // between two tries
}

// fail records that the master could not be used. It reports whether the master was not suspect before.
func (h *health) fail(err error, now time.Time) (changed bool) {
	changed = h.suspect == nil
	h.suspect = &node.SuspectError{Err: err}
	h.backoff = longer(h.backoff, err)
	h.retryAt = now.Add(h.backoff)
	return changed
}

// answer records that the master answered. It reports whether the master was suspect before.
func (h *health) answer() (changed bool) {
	changed = h.suspect != nil
	h.suspect, h.backoff = nil, 0
	return changed
}

// due reports whether the master may be tried: it is not suspect, or the next try is due.
func (h *health) due(now time.Time) bool { return h.suspect == nil || !now.Before(h.retryAt) }

// expire judges the master by a call that has expired with err: the master is suspect if it was silent for at least
// half of the call's time. Otherwise the call only queued behind others. It reports whether the master became suspect.
// A master that is suspect already is not judged again, so that a stream of expiring calls does not postpone the next
// try.
func (h *health) expire(r *Request, err error, silentSince, now time.Time) (changed bool) {
	if h.suspect != nil || now.Sub(silentSince) < r.Deadline.Sub(r.Asked)/2 {
		return false
	}
	return h.fail(err, now)
}
