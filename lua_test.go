package redlock_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/node"
)

// TestScriptsPassErrorsOn: a command that fails inside a script fails the vote, and changes nothing. Read as an answer it
// would end a lock, or make one.
func TestScriptsPassErrorsOn(t *testing.T) {
	t.Parallel()
	ops := redlock.MutexOps(lockName, lockToken, lockTTL)
	inspect := redlock.InspectOp(lockName)
	for _, tt := range []struct {
		op      *node.Op
		forbids string
		missing bool // the name is free; else it is held with the token
	}{
		{op: ops.Extend(0), forbids: "get"},
		{op: ops.Extend(0), forbids: "pexpire"},
		{op: ops.Extend(0), forbids: "set", missing: true},
		{op: ops.Release(true), forbids: "get"},
		{op: ops.Release(true), forbids: "del"},
		{op: inspect, forbids: "type"},
		{op: inspect, forbids: "pttl"},
		{op: inspect, forbids: "get"},
	} {
		for _, p := range []place{virtual(), real(t, "redis-server", "~* &* +@all -"+tt.forbids)} {
			t.Run(fmt.Sprintf("%s without %s, %s", tt.op.Name, tt.forbids, p.name), func(t *testing.T) {
				p.need(t)
				p.with(t, func(t *testing.T, s *server) {
					if !tt.missing {
						s.do(t, "set", lockName, lockToken, "px", 5000)
					}
					before := s.snapshot(t)
					messages := s.listen(t)
					if s.master != nil {
						s.master.Reply("ERR The user executing the script can't run this command or subcommand", strings.ToUpper(tt.forbids))
					}
					v := s.ask(t, tt.op)
					if s.master != nil {
						s.master.Recover()
					}
					assert.Equal(t, node.Failed, v.Verdict)
					assert.False(t, v.Unsent)
					assert.True(t, node.Permanent(v.Err), "a right that a person must give: %v", v.Err)
					assert.Equal(t, before, s.snapshot(t))
					assert.Zero(t, messages())
				})
			})
		}
	}
}
