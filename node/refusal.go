package node

import (
	"slices"
	"strings"
	"time"
)

const (
	// A master that refuses releases is sent one of them after secondLook, then at doubling intervals up to refusalMax.
	refusalMax = time.Second
	// mostReasons bounds the reasons that are told apart.
	mostReasons = 16
)

// refusals are the pursued calls that the master answered with an error. They are kept by reason, and of each reason one at a
// time is sent again. When the master accepts it, all others of this reason follow. So an idle client asks a master a few
// times a second, however many releases it refuses. The pipe's mutex guards them.
type refusals map[string]*refusal

// refusal is one reason for which the master refuses releases.
type refusal struct {
	err     error
	waiting []*Call
	probe   *Call // is sent again at present; nil: none
	retryAt time.Time
	backoff time.Duration
}

// RefusalError reports that a master answers, but refuses to release locks or may not be asked for them.
type RefusalError struct {
	// Err is what it replied; a *RightError if it is not asked for locks any more.
	Err error
	// Over reports that it has ended.
	Over bool
}

func (e *RefusalError) Error() string {
	if e.Over {
		return "no longer: " + e.Err.Error()
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *RefusalError) Unwrap() error { return e.Err }

// reasonOf is the part of an error reply that does not depend on the request.
func reasonOf(err error) string {
	words := strings.Fields(err.Error())
	if len(words) > 0 && words[0] != "ERR" {
		return words[0]
	}
	return strings.Join(words[:min(len(words), 3)], " ")
}

// refuse notes that the master refused a pursued call, and reports whether the reason is new.
func (rs *refusals) refuse(c *Call, err error, now time.Time) (isNew bool) {
	for _, r := range *rs {
		if r.probe == c {
			r.probe, r.backoff = nil, min(2*r.backoff, refusalMax)
			r.retryAt = now.Add(r.backoff)
		}
	}
	reason := reasonOf(err)
	if (*rs)[reason] == nil && len(*rs) >= mostReasons {
		reason = ""
	}
	r := (*rs)[reason]
	if isNew = r == nil; isNew {
		if *rs == nil {
			*rs = make(refusals)
		}
		r = &refusal{err: err, retryAt: now.Add(secondLook), backoff: secondLook}
		(*rs)[reason] = r
	}
	r.waiting = append(r.waiting, c)
	return isNew
}

// accept notes that the master executed a pursued call. It returns the calls that it may accept as well now, and the reasons
// that have ended.
func (rs refusals) accept(c *Call, now time.Time) (again []*Call, over []error) {
	for reason, r := range rs {
		r.giveUp(now)
		if r.probe == c || r.probe == nil && len(r.waiting) == 0 {
			again, over = append(again, r.waiting...), append(over, r.err)
			delete(rs, reason)
		}
	}
	return again, over
}

// due takes the calls that are to be sent again now.
func (rs refusals) due(now time.Time) (calls []*Call) {
	for _, r := range rs {
		r.giveUp(now)
		if r.probe == nil && len(r.waiting) > 0 && !now.Before(r.retryAt) {
			r.probe = r.waiting[0]
			r.waiting = slices.Delete(r.waiting, 0, 1)
			calls = append(calls, r.probe)
		}
	}
	return calls
}

// giveUp drops the calls whose keys have certainly expired.
func (r *refusal) giveUp(now time.Time) {
	if r.probe != nil && r.probe.overdue(now) {
		r.probe = nil
	}
	r.waiting = slices.DeleteFunc(r.waiting, func(c *Call) bool { return c.overdue(now) })
}

// next is when something is to be sent again; zero: never.
func (rs refusals) next() (next time.Time) {
	for _, r := range rs {
		if r.probe == nil && len(r.waiting) > 0 && (next.IsZero() || r.retryAt.Before(next)) {
			next = r.retryAt
		}
	}
	return next
}

// count is how many calls wait to be sent again.
func (rs refusals) count() (n int) {
	for _, r := range rs {
		n += len(r.waiting)
	}
	return n
}
