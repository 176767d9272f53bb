package wire

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

// A comparison asks whether there are several servers, once for each server that a connection for requests reaches. A
// check asks whether there still are. See several.go for why, and for what proves it.

// askServer is the question for the run id that goes ahead of a batch.
var askServer = Command("server", func(any) Vote { return grant() }, "info", "server")

// learnServer reads the reply to askServer, which precedes the replies to the batch. A proxy may keep the connection
// while it replaces the server.
func (s *settlement) learnServer(c *Call, r link.Reply) {
	text, _ := r.Value.(string)
	id := resp.ParseInfo(text)["run_id"]
	s.state.servers.see(link.Observation{RunID: id, Asked: c.sentAt(), Answered: s.now})
	if id != "" && id != s.server.RunID {
		s.change()
		s.server.RunID, s.server.Up = id, s.now
	}
}

// saw records the server that a connection reached.
func (co *core) saw(x link.Observation) (fx effects) {
	fx.now = x.Answered
	co.state.servers.see(x)
	co.noteServers(&fx)
	return fx
}

// noteServers reports that the address leads to several servers, or no longer does.
func (co *core) noteServers(fx *effects) {
	switch {
	case co.closing.closed:
	case co.conn.link != nil:
		co.noteBar(co.conn.link.Server(), fx)
	case co.state.servers.several != nil || errors.As(co.conn.reportedBar, new(*node.SeveralServersError)):
		co.noteBar(nil, fx)
	}
}

// beginComparison records the server of l, a new connection, as main. If that server was not compared yet with those
// that other connections reach, a comparison begins: fx.comparison is closed when it has ended.
func (co *core) beginComparison(l link.Link) (fx effects) {
	s := &co.state.servers
	hadDoubt := s.doubt && co.conn.link != nil // a silent main connection, which may answer yet, keeps its doubt
	s.setMain(l.Server().RunID)
	s.doubt = s.doubt || hadDoubt
	if s.claimComparison() && co.reaches && !co.closing.closed {
		fx.comparison = make(chan struct{})
	}
	return fx
}

// comparisonOver reports whether the comparison is over after a connection to runID: the pipe is closed, several
// servers are proved, only one was ever seen, or the first connection of the comparison reached the pipe's own server.
func (co *core) comparisonOver(runID string, first bool) bool {
	s := &co.state.servers
	return co.closing.closed || s.several != nil || s.seen[1].RunID == "" || first && runID == s.main
}

// beginCheck begins to check whether there are still several servers, if that is due.
func (co *core) beginCheck(now time.Time, fx *effects) {
	if co.state.servers.due(now) && !co.closing.closed {
		co.state.servers.checking = true
		fx.startCheck = true
	}
}

// endCheck records the only server that a check has reached; "" if it reached several, or none. Once enough checks
// agree, a connection to another server is replaced: the main one here, others when [core.use] makes them that.
func (co *core) endCheck(runID string, now time.Time) (fx effects) {
	fx.now = now
	one := co.state.servers.endCheck(runID, now)
	if l := co.conn.link; l != nil && one && l.Server().RunID != runID {
		l.Replace()
	}
	co.noteServers(&fx)
	co.wakeForCheck(&fx)
	return fx
}

// wakeForCheck makes tick run when the next check is due, if the last one has reached one server: then the checks do
// not wait for requests.
func (co *core) wakeForCheck(fx *effects) {
	if s := &co.state.servers; s.several != nil && s.agreed > 0 && !s.checking {
		fx.wake(s.retryAt)
	}
}

// awaitComparison begins a comparison for l, and waits for its result: if there are several servers, not even the first
// grant may count. It does not wait long, see compareWait. took is how long it took to make l, and patience how long it
// was allowed to take.
func (p *pipe) awaitComparison(l link.Link, took, patience time.Duration) {
	done := p.beginComparison(l)
	if done == nil || took > compareWait {
		return
	}
	over := make(chan struct{})
	wait := max(min(compareWait, patience-took), compareWaitMin)
	timer := p.clock.AfterFunc(wait, func() { close(over) })
	defer timer.Stop()
	select {
	case <-done:
	case <-over:
	}
}

// beginComparison begins the comparison, unless there is nothing to compare, and returns a channel that is closed when
// it has ended; nil if there is none.
func (p *pipe) beginComparison(l link.Link) (done chan struct{}) {
	p.mu.Lock()
	fx := p.core.beginComparison(l)
	p.unlock(&fx)
	return fx.comparison
}

// runComparison connects, at most comparisons times, until the comparison is over. It closes done then.
func (p *pipe) runComparison(done chan struct{}) error {
	defer close(done)
	for i := range comparisons {
		id, closeLink, err := p.reach()
		if err != nil {
			break
		}
		closeLink()
		p.mu.Lock()
		over := p.core.comparisonOver(id, i == 0)
		p.mu.Unlock()
		if over {
			break
		}
	}
	return nil
}

// runCheck checks whether there are still several servers.
func (p *pipe) runCheck() error {
	runID := p.onlyServer()
	now := p.clock.Now()
	p.act(func(co *core) effects { return co.endCheck(runID, now) })
	return nil
}

// onlyServer returns the server that all connections of a check reach; "" if they reach several, or none. The
// connections stay open until the check ends. Otherwise a load balancer that prefers the server with the fewest
// connections would lead each to the server that the pipe's connection does not use.
func (p *pipe) onlyServer() (runID string) {
	var open []func()
	defer func() {
		for _, closeLink := range open {
			closeLink()
		}
	}()
	for i := range agreeing {
		id, closeLink, err := p.reach()
		if err != nil {
			return ""
		}
		open = append(open, closeLink)
		if i > 0 && id != runID {
			return ""
		}
		runID = id
	}
	return runID
}
