package node

import (
	"time"
)

// settlement turns replies into votes, under the pipe's mutex.
type settlement struct {
	pipe   *pipe
	server *Server
	now    time.Time

	cast       []cast  // the votes to deliver
	again      []*Call // calls for the head of the queue, in order
	unanswered []*Call // pursued calls that were written and will get no answer, in order

	broken bool      // the connection is over
	lost   bool      // something was written whose reply will never come
	since  time.Time // when that was
	heard  bool      // the master replied to something
	stale  bool      // the connection was only verified, and ended
	err    error     // what broke the connection
}

// cast is a call and its vote.
type cast struct {
	call *Call
	vote Vote
}

// settleAll settles calls with replies, which may be fewer than the calls. If err is not nil, the connection has ended,
// and the remaining calls will get no reply. settleAll returns how many calls are settled.
func (s *settlement) settleAll(calls []*Call, replies []reply, err error) (settled int) {
	for i, c := range calls {
		var r reply
		switch {
		case i < len(replies):
			r = replies[i]
		case err != nil:
			r = reply{result: inDoubt, err: err}
		default:
			return i
		}
		if r.result == answered && r.err != nil && hasPrefix(r.err, "ERR Protocol error") {
			// The server closes the connection after this reply. It did not execute the request, but would close the
			// next connection, too, if the request were repeated there.
			err = r.err
			if c.Delivery.Durable {
				r.result = inDoubt
			}
		}
		s.settle(c, r)
	}
	if err != nil {
		s.broken, s.err = true, err
	}
	return len(calls)
}

func (s *settlement) settle(c *Call, r reply) {
	if r.result == answered {
		if !s.heard {
			s.heard = true
			s.pipe.heard(s.server.RunID, s.pipe.suspect != nil, s.now)
		}
		if !s.probed(c, r) {
			s.answer(c, r)
		}
		return
	}
	s.broken, s.err = true, r.err
	if c.Op == ping {
		s.stale = true
		return
	}
	if r.result == inDoubt && !s.lost {
		s.lost, s.since = true, c.f.sent
	}
	switch {
	case s.probed(c, r):
	case c.Delivery.Durable && r.result == inDoubt:
		c.f.repeated = true
		s.unanswered = append(s.unanswered, c)
	case c.Delivery.Durable:
		s.again = append(s.again, c)
	case r.result == notSent:
		s.vote(c, unsent(r.err))
	default:
		s.vote(c, unknown(r.err))
	}
}

func (s *settlement) answer(c *Call, r reply) {
	err := r.err
	switch {
	case err == nil:
		s.accept(c, c.Op.read(r.value))
	case c.Op.script != nil && !c.f.asText && hasPrefix(err, "NOSCRIPT"):
		c.f.asText = true
		if c.Cancelled != nil && c.Cancelled.Load() {
			s.vote(c, unsent(ErrDropped))
			return
		}
		s.again = append(s.again, c)
	case c.Delivery.Durable:
		s.learn(c, err)
		// Not executed, but heard: whatever was sent before has reached the master, so its keys are ageing.
		if c.f.expiresAt.IsZero() {
			c.f.expiresAt = s.now.Add(c.Delivery.KeyTTL)
		}
		s.vote(c, failed(err))
		if s.pipe.refusals.refuse(c, err, s.now) {
			s.pipe.news = append(s.pipe.news, &RefusalError{Err: err})
		}
		s.pipe.alarm.By(s.pipe.refusals.next())
	default:
		s.learn(c, err)
		s.vote(c, failed(err))
	}
}

// learn records a missing right if the error reply to a script reports one.
func (s *settlement) learn(c *Call, err error) {
	if c.Op.script == nil {
		return
	}
	if news := s.pipe.bars.learn(c, err, s.now); news != nil {
		s.pipe.news = append(s.pipe.news, &RefusalError{Err: news})
	}
}

// probed settles c if it is a probe for a missing right, and reports whether it is.
func (s *settlement) probed(c *Call, r reply) bool {
	ours, over := s.pipe.bars.probed(c, r, s.now)
	if over != nil {
		s.pipe.news = append(s.pipe.news, &RefusalError{Err: over, Over: true})
	}
	return ours
}

func (s *settlement) accept(c *Call, v Vote) {
	v.Server = s.server
	if c.f.repeated && v.Verdict == Denied {
		v.Verdict = Granted // what it was to remove is gone; the sending whose reply was lost did it, or nobody needed to
	}
	s.vote(c, s.server.guard(v, c.Window, s.now))
	if !c.Delivery.Durable {
		return
	}
	again, over := s.pipe.refusals.accept(c, s.now)
	s.pipe.queue = append(s.pipe.queue, again...)
	for _, err := range over {
		s.pipe.news = append(s.pipe.news, &RefusalError{Err: err, Over: true})
	}
	if at, again := s.pipe.lookAgain(c, s.now); again {
		s.pipe.resend(c, at)
	}
}

func (s *settlement) vote(c *Call, v Vote) {
	if c.f.voted {
		return // its asker left at the deadline
	}
	c.f.voted = true
	s.cast = append(s.cast, cast{c, v})
}

// conclude draws the consequences for the pipe, and reports whether the master's standing changed.
func (s *settlement) conclude() (changed bool) {
	p := s.pipe
	if s.broken {
		p.link = nil
		if s.lost {
			p.lose(s.server.RunID, s.since)
		}
		if !p.proven && !s.heard && !s.stale {
			return p.fail(s.err, s.now) // one after the other would go the same way
		}
		return false // whether the master is suspect, the next connection tells
	}
	if s.heard {
		p.proven = true
		return p.trust()
	}
	return false
}
