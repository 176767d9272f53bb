package wire

import (
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/node"
)

// rightsInterval is how often the node rechecks a missing right while callers ask for locks.
const rightsInterval = time.Second

// rights are the rights that the user lacks on the master, by the script that the master refuses. The key nil stands
// for all scripts. While the master refuses a script, the node sends it no operation that this script undoes: it must
// not set a lock that it cannot release.
type rights map[*Script]*missingRight

// missingRight is a script that the master refuses, or all scripts.
type missingRight struct {
	err      *node.RightError
	recheck  *Op       // the operation that shows whether the master still refuses
	text     bool      // the recheck is sent with the text of its script
	at       time.Time // when the master refused it last
	retryAt  time.Time // when the recheck may be sent
	inFlight *Call     // the recheck that has no reply yet; nil: none
}

// anyScript calls a script that changes nothing. By its digest, no server has it. A refused operation itself must not
// be sent again later: its caller was told that it was not executed.
var anyScript = (&Script{text: "return 1", sha: link.NoScript}).Op("rights", nil, nil)

// missing returns the right without which op must not be sent; nil if the master is not known to refuse one.
func (rs rights) missing(op *Op) *missingRight {
	if len(rs) == 0 || op.undo == nil {
		return nil
	}
	if m := rs[nil]; m != nil {
		return m
	}
	return rs[op.undo]
}

// refused returns why op must not be sent to the master; nil if it may be. While a recheck is due or has no reply
// yet, refused returns nil, because the user may have the right by now.
func (rs rights) refused(op *Op, now time.Time) error {
	if m := rs.missing(op); m != nil && m.inFlight == nil && now.Before(m.retryAt) {
		return m.err
	}
	return nil
}

// check returns why op may not be sent; nil if it may be. If wait is true, the reply to a recheck will decide; the
// caller must send the recheck that check returns, if any.
func (rs rights) check(op *Op, now time.Time) (recheck *Call, wait bool, err error) {
	m := rs.missing(op)
	switch {
	case m == nil:
		return nil, false, nil
	case m.inFlight != nil:
		return nil, true, nil
	case now.Before(m.retryAt):
		return nil, false, m.err
	}
	m.inFlight = &Call{
		Request: &Request{Op: m.recheck, Asked: now, Deadline: now},
		voted:   true, asText: m.text, sent: true,
	}
	return m.inFlight, true, nil
}

// set records that the master refuses the script s, or all scripts if s is nil. It returns m.err if that is new,
// otherwise nil.
func (rs *rights) set(s *Script, m *missingRight) (found *node.RightError) {
	if *rs == nil {
		*rs = make(rights)
	}
	m.retryAt, found = m.at.Add(rightsInterval), m.err
	if old := (*rs)[s]; old != nil {
		m.inFlight, found = old.inFlight, nil
	}
	(*rs)[s] = m
	return found
}

// learn records the missing right, if any, that the error reply err to the script of c reports. It returns an error if
// the right was not known to be missing.
func (rs *rights) learn(c *Call, err error, now time.Time) (found *node.RightError) {
	inScript, command := replyerr.Refusal(err)
	if !command || inScript && !c.Op.script.undoes.Load() {
		return nil // the right to a key is missing, or the script is not one that undoes an operation
	}
	m := &missingRight{err: &node.RightError{Err: err}, recheck: anyScript, text: c.asText, at: now}
	if !inScript {
		return rs.set(nil, m)
	}
	m.recheck = c.Op // a release, which may be executed again
	return rs.set(c.Op.script, m)
}

// executed records that the master executed the script of c, which undid something: the user has that right again. It
// returns the error that was recorded for the script; nil if there was none, or if the reply to a recheck will decide.
func (rs rights) executed(c *Call) (over *node.RightError) {
	if len(rs) == 0 || c.Op.script == nil {
		return nil
	}
	m := rs[c.Op.script]
	if m == nil || m.inFlight != nil {
		return nil
	}
	delete(rs, c.Op.script)
	return m.err
}

// handshake records the result of a new connection's check of the right to run scripts, which was made at that time or
// later. It returns what onHealth must report; nil if nothing changed.
func (rs *rights) handshake(r link.ScriptRight, at time.Time) *node.RefusalError {
	old := (*rs)[nil]
	switch {
	case r.Err != nil:
		if found := rs.set(nil, &missingRight{err: &node.RightError{Err: r.Err}, recheck: anyScript, at: at}); found != nil {
			return &node.RefusalError{Err: found}
		}
	case r.Allowed && old != nil && !old.text && !at.Before(old.at): // a handshake tests EVALSHA, not EVAL
		delete(*rs, nil)
		return &node.RefusalError{Err: old.err, Over: true}
	}
	return nil
}

// rechecked handles the reply r to c if c is a recheck, and reports whether it is. If the user has the right again,
// over is the error that the master no longer returns.
func (rs rights) rechecked(c *Call, r link.Reply, now time.Time) (isRecheck bool, over *node.RightError) {
	for scope, m := range rs {
		if m.inFlight != c {
			continue
		}
		m.inFlight = nil
		noScript := !m.text && replyerr.HasPrefix(r.Err, "NOSCRIPT")
		switch {
		case r.Result != link.Answered:
			m.retryAt = now
		case r.Err == nil, noScript && m.recheck == anyScript:
			delete(rs, scope)
			return true, m.err
		case noScript:
			m.text, m.retryAt = true, now
		default:
			m.at, m.retryAt = now, now.Add(rightsInterval)
		}
		return true, nil
	}
	return false, nil
}
