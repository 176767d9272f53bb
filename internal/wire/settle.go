package wire

import (
	"cmp"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

// settlement turns the replies to some calls into votes, and records what they show of the master.
type settlement struct {
	state  *state
	server *link.Server // that sent the next reply
	now    time.Time

	deliveries []delivery
	retry      []*Call   // calls that were not executed, in order: for the head of the queue, or the spare's outbox
	unanswered []*Call   // durable calls that were written and have no valid reply, in order
	reports    []error   // the refusals that began or ended
	answered   bool      // the master replied to a call
	ended      bool      // the connection ended
	err        error     // why it ended
	lost       bool      // a call, no PING and no question of the node, was written and has no valid reply
	lostSince  time.Time // when the first such call was written
	onlyPing   bool      // the connection carried only a PING when it ended
	malformed  error     // a reply that its operation cannot return, which ends the connection
	changed    bool      // server was replaced; the link must learn that
}

// settleAll settles calls with replies, which may be fewer than the calls. If err is not nil, the connection has ended,
// and the remaining calls will get no reply. settleAll returns how many calls are settled.
func (s *settlement) settleAll(calls []*Call, replies []link.Reply, err error) (settled int) {
	if len(replies) > len(calls) {
		err = link.ErrUnasked
	}
	if errors.Is(err, link.ErrUnasked) {
		replies = nil // one of them was surplus, so each may belong to another call
	}
	for i, c := range calls {
		var r link.Reply
		switch {
		case i < len(replies):
			r = replies[i]
		case err != nil:
			r = link.Reply{Result: link.InDoubt, Err: err}
		default:
			return i
		}
		if r.Result == link.Answered && replyerr.HasPrefix(r.Err, "ERR Protocol error") {
			// The server closes the connection after this reply. It did not execute the request, but would close the
			// next connection, too, if the request were repeated there.
			err = r.Err
			if c.Durable {
				r.Result = link.InDoubt
			}
		}
		wasAnswered := s.answered
		s.settleOne(c, r)
		if s.malformed != nil && i < len(replies) { // the later replies may belong to other calls, and count as missing
			replies, err, s.answered = replies[:i+1], cmp.Or(err, s.malformed), wasAnswered
		}
	}
	if err != nil {
		s.ended, s.err = true, err
	}
	return len(calls)
}

// settleOne settles one call with what became of it.
func (s *settlement) settleOne(c *Call, r link.Reply) {
	if c.Op == ping && r.Err != nil &&
		!replyerr.HasPrefix(r.Err, "NOPERM", "ERR unknown", "LOADING", "BUSY", "MASTERDOWN", "MISCONF") {
		r.Result = link.InDoubt // any other error is a proxy's reason for ending an idle connection
	}
	if r.Result == link.Answered {
		if !s.answered {
			s.answered = true
			s.state.late.answered(s.server.RunID, s.state.health.suspect != nil, s.now)
		}
		switch {
		case c.Op == askRole:
			s.learnRole(r)
		case c.Op == askServer:
			s.learnServer(c, r)
		case !s.settleRecheck(c, r):
			s.reply(c, r)
		}
		return
	}
	s.noReply(c, r)
}

// change replaces the server by a copy, which the caller may change, and returns the server from before.
func (s *settlement) change() (before *link.Server) {
	before = s.server
	changed := *before
	s.server, s.changed = &changed, true
	return before
}

// noReply settles a call that gets no valid reply: the connection has ended, or a malformed reply ends it.
func (s *settlement) noReply(c *Call, r link.Reply) {
	s.ended, s.err = true, r.Err
	switch c.Op {
	case ping:
		s.onlyPing = true
		return
	case askRole, askServer:
		return
	}
	if r.Result == link.InDoubt && !s.lost {
		s.lost, s.lostSince = true, c.sentAt()
	}
	switch {
	case s.settleRecheck(c, r):
	case c.Durable && r.Result == link.InDoubt:
		c.repeated = true
		s.unanswered = append(s.unanswered, c)
	case c.Durable:
		s.retry = append(s.retry, c)
	case r.Result == link.NotSent:
		s.vote(c, unsent(r.Err))
	default:
		s.vote(c, unknown(r.Err))
	}
}

// settleRecheck settles c if it is a recheck of a missing right, and reports whether it is.
func (s *settlement) settleRecheck(c *Call, r link.Reply) bool {
	isRecheck, regained := s.state.rights.rechecked(c, r, s.now)
	s.restored(regained)
	return isRecheck
}

// restored reports that the user has a right again. regained is the error that had reported it missing; nil: none.
func (s *settlement) restored(regained *node.RightError) {
	if regained != nil {
		s.reports = append(s.reports, &node.RefusalError{Err: regained, Over: true})
	}
}

// reply settles a call that the master replied to.
func (s *settlement) reply(c *Call, r link.Reply) {
	switch {
	case r.Err == nil:
		v := c.Op.read(r.Value)
		_, large := r.Value.(resp.Oversized)                 // it was read to its end, so the later replies are in place
		if bad, ok := v.Err.(*badReplyError); ok && !large { //nolint:errorlint // it is never wrapped
			s.mistrust(c, v, bad)
			return
		}
		s.accept(c, v)
	case c.Op.script != nil && !c.asText && replyerr.HasPrefix(r.Err, "NOSCRIPT"):
		c.asText = true
		c.postpone(s.now.Sub(c.sentAt()))
		if c.Canceled != nil && c.Canceled.Load() {
			s.vote(c, unsent(node.ErrDropped))
			return
		}
		s.retry = append(s.retry, c)
	default:
		s.refuse(c, r.Err)
	}
}

// mistrust settles a call whose reply is not one of its operation. The master may have executed the call.
func (s *settlement) mistrust(c *Call, v Vote, err error) {
	s.malformed = err
	if c.Durable {
		s.noReply(c, link.Reply{Result: link.InDoubt, Err: err})
		return
	}
	v.Server = s.server
	s.vote(c, v)
}

// accept settles a call that the master executed.
func (s *settlement) accept(c *Call, v Vote) {
	v.Server = s.server
	if v.Verdict == Granted {
		s.restored(s.state.rights.executed(c))
	}
	if c.repeated && v.Verdict == Denied && !c.Keeps {
		v.Verdict = Granted // the key is gone: an earlier sending removed it, or there was nothing to remove
	}
	if several := s.state.servers.several; several != nil && c.Op.anyRole && v.Err == nil {
		v.Err = several // the vote remains a grant, see Vote.Err
	}
	s.vote(c, guard(s.server, v, c, s.state.bar(s.server)))
	if c.Durable {
		s.durableExecuted(c)
	}
}

// durableExecuted records that the master executed a durable call, which may have to be repeated nevertheless.
func (s *settlement) durableExecuted(c *Call) {
	for _, err := range s.state.outbox.executed(c, s.now) {
		s.reports = append(s.reports, &node.RefusalError{Err: err, Over: true})
	}
	s.state.calls.push(s.state.outbox.takeMain(s.now)...)
	if !s.state.late.mayOvertake(c.FirstAsked) {
		return
	}
	if at, ok := s.state.late.repeatAt(c.confirmed(s.now), c.KeyTTL, s.now); ok {
		s.state.outbox.owe(owedLate, at, s.now, c)
	}
}

// guard turns a grant of the server to c that does not count into Unknown: the operation was executed, so it must be
// released. bar is why no vote counts; nil: votes count. The window must have passed when c was sent, not only when the
// reply is read, which may be much later.
func guard(server *link.Server, v Vote, c *Call, bar error) Vote {
	if v.Verdict != Granted {
		return v
	}
	var err error
	if c.asksForVote() || c.Keeps {
		err = bar
	}
	if err == nil && c.Window > 0 {
		err = server.Trusted(c.Window, c.sentAt())
	}
	if err != nil {
		v.Verdict, v.Guarded, v.Err = Unknown, true, err
	}
	return v
}

// refuse settles a call that the master answered with an error: it did not execute the call.
func (s *settlement) refuse(c *Call, err error) {
	if replyerr.HasPrefix(err, "READONLY") {
		s.change()
		s.server.Up = s.now // if it executes a later call, it was promoted meanwhile
	}
	if c.Op.script != nil {
		if found := s.state.rights.learn(c, err, s.now); found != nil {
			s.reports = append(s.reports, &node.RefusalError{Err: found})
		}
	}
	if c.Durable {
		// The master has received whatever was sent before, so the TTLs of the keys are running, unless the network may
		// still deliver what the call undoes.
		from := s.now
		if s.state.late.mayOvertake(c.FirstAsked) {
			from = later(from, s.state.late.until)
		}
		c.expireAt(from.Add(c.KeyTTL))
		if s.state.outbox.refused(c, err, s.now) {
			s.reports = append(s.reports, &node.RefusalError{Err: err})
		}
	}
	s.vote(c, failed(err))
}

// vote records a vote to deliver, unless the call got one at its deadline.
func (s *settlement) vote(c *Call, v Vote) {
	if c.claimVote() {
		s.deliveries = append(s.deliveries, delivery{c, v})
	}
}
