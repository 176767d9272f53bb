package wire

import (
	"time"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

// A server whose role is not that of a master has no vote: what it knows is what its master knows. It gets releases,
// which are harmless, and the question for its state, and nothing else. A minimum hold that it keeps does not count.
//
// The node asks for the role when it connects. REPLICAOF ends no connection, so the node asks again, ahead of the next
// batch, once roleInterval has passed. A batch that is sent within that time of REPLICAOF may count once more on a
// replica that accepts writes; others refuse the writes, which ends the connection.

// roleInterval is how long a role that was answered is believed while requests are sent.
const roleInterval = time.Second

// asksForVote reports whether the call asks for a vote, which only a master has.
func (c *Call) asksForVote() bool { return !c.Durable && !c.Op.anyRole }

// askRole is the question for the role that goes ahead of a batch.
var askRole = Command("role", func(any) Vote { return grant() }, "info", "replication")

// learnRole reads the reply to askRole, which replies to later calls of the batch follow.
func (s *settlement) learnRole(r link.Reply) {
	text, _ := r.Value.(string)
	if role := resp.ParseInfo(text)["role"]; role != "" && role != s.server.Role {
		before := s.change()
		s.server.Role = role
		if before.NotMaster() != nil && s.server.NotMaster() == nil {
			s.server.Up = s.now // it was promoted, and may not know the locks from before
		}
	}
}

// bar returns why no vote of a server counts; nil if its votes count.
func (s *state) bar(server *link.Server) error {
	if s.servers.several != nil {
		return s.servers.several
	}
	return server.NotMaster()
}

// noteBar reports that the server ceased to be asked for votes, or is asked again.
func (co *core) noteBar(s *link.Server, fx *effects) {
	err := co.state.bar(s)
	switch was := co.conn.reportedBar; {
	case err != nil && was == nil:
		fx.reports = append(fx.reports, &node.RefusalError{Err: err})
	case err == nil && was != nil:
		fx.reports = append(fx.reports, &node.RefusalError{Err: was, Over: true})
	}
	co.conn.reportedBar = err
}
