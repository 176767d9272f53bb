package wire

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// A server whose role is not that of a master has no vote: what it knows is what its master knows. It gets releases,
// which are harmless, and the question for its state, and nothing else.
//
// The node asks for the role when it connects. REPLICAOF ends no connection, so the node asks again, ahead of the next
// batch, once roleInterval has passed. A batch that is sent within that time of REPLICAOF may count once more on a
// replica that accepts writes; others refuse the writes, which ends the connection.

// roleMaster is the role of a server that votes.
const roleMaster = "master"

const (
	// roleInterval is how long a role that was answered is believed while requests are sent.
	roleInterval = time.Second
	// replicaFor is how long a connection to a server that is no master is used before the node asks again, over a new
	// one.
	replicaFor = 500 * time.Millisecond
)

// notMaster returns a *RoleError if the server is known not to be a master.
func (s *Server) notMaster() error {
	if s == nil || s.Role == "" || s.Role == roleMaster {
		return nil
	}
	return &node.RoleError{Role: s.Role}
}

// votes reports whether the call asks for a vote, which only a master has.
func (c *Call) votes() bool { return !c.Durable && !c.Op.anyRole }

// askRole is the question for the role that goes ahead of a batch.
var askRole = Command("role", func(any) Vote { return grant() }, "info", "replication")

// asksRole reports whether the next batch over l must ask for the role.
func (co *core) asksRole(l link, now time.Time) bool {
	s, ok := l.(*session) // others ask by themselves
	return ok && s.identity.Role != "" && now.Sub(co.conn.roleAt) >= roleInterval
}

// learnRole reads the reply to askRole, which replies to later calls of the batch follow.
func (s *settlement) learnRole(r reply) {
	text, _ := r.value.(string)
	if role := parseInfo(text)["role"]; role != "" && role != s.server.Role {
		changed := *s.server
		changed.Role = role
		s.server, s.changed = &changed, true
	}
}

// noteBar reports that the server ceased to be asked for votes, or is asked again.
func (co *core) noteBar(s *Server, fx *effects) {
	err := co.state.bar(s)
	switch was := co.conn.barred; {
	case err != nil && was == nil:
		fx.reports = append(fx.reports, &node.RefusalError{Err: err})
	case err == nil && was != nil:
		fx.reports = append(fx.reports, &node.RefusalError{Err: was, Over: true})
	}
	co.conn.barred = err
}
