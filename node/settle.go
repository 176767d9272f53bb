package node

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// settlement turns the results of one batch into votes, under the pipe's mutex.
type settlement struct {
	pipe   *pipe
	server Server
	now    time.Time

	cast   []cast  // the votes to be cast
	again  []*Call // go back to the head of the queue, in order
	broken bool    // the connection is over
	lost   bool    // something was written whose reply will never come
	heard  bool    // the master replied to something
	err    error   // what broke the connection
}

// cast is a call and its vote.
type cast struct {
	call *Call
	vote Vote
}

func (s *settlement) settle(c *Call, cmd *redis.Cmd, execErr error) {
	result, err := classify(cmd, execErr)
	if result == answered {
		if !s.heard {
			s.heard = true
			s.pipe.heard(s.server.RunID, s.pipe.suspect != nil, s.now)
		}
		s.answer(c, cmd, err)
		return
	}
	s.broken, s.err = true, err
	s.lost = s.lost || result == inDoubt
	_, fresh := s.pipe.link.(*session)
	switch {
	case c.Pursue, result == notSent && fresh && !c.voted:
		// A session that ended before it was used says nothing about the master: the next one carries the call.
		c.repeated = c.repeated || result == inDoubt
		s.again = append(s.again, c)
	case result == notSent:
		s.vote(c, unsent(err))
	default:
		s.vote(c, unknown(err))
	}
}

func (s *settlement) answer(c *Call, cmd *redis.Cmd, err error) {
	switch {
	case err == nil:
		s.accept(c, c.Op.read(cmd.Val()))
	case err == redis.Nil: //nolint:errorlint // stamped as it is by the reader of replies
		s.accept(c, c.Op.read(nil))
	case c.Op.eval != nil && !c.asText && hasPrefix(err, "NOSCRIPT"):
		c.asText = true
		if c.Void != nil && c.Void.Load() {
			s.vote(c, unsent(ErrDropped))
			return
		}
		s.again = append(s.again, c)
	case c.Pursue:
		// Not executed, but heard: whatever was sent before has reached the master, so its keys are ageing.
		if c.GiveUp.IsZero() {
			c.GiveUp = s.now.Add(c.Linger)
		}
		s.vote(c, failed(err))
		s.pipe.resend(c, s.now.Add(secondLook))
	default:
		s.vote(c, failed(err))
	}
}

func (s *settlement) accept(c *Call, v Vote) {
	v.Server = s.server
	if c.repeated && v.Verdict == Denied {
		v.Verdict = Granted // what it was to remove is gone; the sending whose reply was lost did it, or nobody needed to
	}
	s.vote(c, s.server.guard(v, c.Window, s.now))
	if !c.Pursue {
		return
	}
	if at, again := s.pipe.lookAgain(c, s.now); again {
		s.pipe.resend(c, at)
	}
}

func (s *settlement) vote(c *Call, v Vote) {
	if c.voted {
		return // its asker left at the deadline
	}
	c.voted = true
	s.cast = append(s.cast, cast{c, v})
}

// conclude draws the batch's consequences for the pipe, and reports whether the master's standing changed.
func (s *settlement) conclude() (changed bool) {
	p := s.pipe
	if s.broken {
		p.link = nil
		if s.lost {
			p.lose(s.server.RunID, p.began)
		}
		if !p.proven && !s.heard {
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
