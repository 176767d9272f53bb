package wire

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/node"
)

// askServer is the question for the run id that goes ahead of a batch.
var askServer = Command("server", func(any) Vote { return grant() }, "info", "server")

// isQuestion reports whether the operation is a question of the node itself that goes ahead of a batch.
func (o *Op) isQuestion() bool { return o == askRole || o == askServer }

// learnServer reads the reply to askServer, which precedes the replies to the batch. A proxy may keep the connection
// while it replaces the server.
func (s *settlement) learnServer(c *Call, r reply) {
	text, _ := r.value.(string)
	id := parseInfo(text)["run_id"]
	s.state.servers.see(observation{runID: id, asked: c.flight.sent, answered: s.now})
	if id != "" && id != s.server.RunID {
		changed := *s.server
		changed.RunID, changed.Up = id, s.now
		s.server, s.changed = &changed, true
	}
}

// reach makes a connection only to see which server it reaches. The caller must close it with done.
func (d *dialer) reach(ctx context.Context) (runID string, done func(), err error) {
	s, err := d.attempt(ctx, d.attemptTimeout(), d.greet)
	if err != nil {
		return "", nil, err
	}
	return s.identity.RunID, s.close, nil
}

// saw records the server that a connection reached.
func (co *core) saw(x observation) (fx effects) {
	fx.now = x.answered
	co.state.servers.see(x)
	co.noteServers(&fx)
	return fx
}

// noteServers reports that the address leads to several servers, or no longer does.
func (co *core) noteServers(fx *effects) {
	switch {
	case co.closing.closed:
	case co.conn.link != nil:
		co.noteBar(co.conn.link.server(), fx)
	case co.state.servers.several != nil || errors.As(co.conn.barred, new(*node.SeveralServersError)):
		co.noteBar(nil, fx)
	}
}

// beginCompare begins to compare the server that l has reached with those that other connections reach, unless there is
// nothing to compare. fx.comparison is closed when that has ended.
func (co *core) beginCompare(l link) (fx effects) {
	if co.state.servers.use(l.server().RunID) && co.reaches && !co.closing.closed {
		fx.comparison = make(chan struct{})
	}
	return fx
}

// settled reports whether the comparison is over after a connection to runID. first marks its first connection.
func (co *core) settled(runID string, first bool) bool {
	return co.closing.closed || co.state.servers.settled(runID, first)
}

// checkServers begins to check whether there are still several servers, if that is due.
func (co *core) checkServers(now time.Time, fx *effects) {
	if co.state.servers.due(now) && !co.closing.closed {
		co.state.servers.checking = true
		fx.startCheck = true
	}
}

// serversChecked records that a check has reached a single server, or "". The pipe's connection may lead to another
// one, if the address has moved. It is then replaced.
func (co *core) serversChecked(runID string, now time.Time) (fx effects) {
	fx.now = now
	one := co.state.servers.checked(runID, now)
	if l := co.conn.link; l != nil && one && l.server().RunID != runID {
		l.change(l.server())
	}
	co.noteServers(&fx)
	co.wakeForCheck(&fx)
	return fx
}

// wakeForCheck makes tick run when the next check is due, if the last one has reached one server: then the checks do
// not wait for requests.
func (co *core) wakeForCheck(fx *effects) {
	if s := &co.state.servers; s.several != nil && s.checks > 0 && !s.checking {
		fx.wake(s.retryAt)
	}
}
