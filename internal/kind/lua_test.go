package kind_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// A command that fails inside a script fails the vote and changes nothing on a real server. Taken as a reply, the error
// would end a lock or make one.
func TestAFailedCommandFailsTheScript(t *testing.T) {
	t.Parallel()
	ops := mutexOps(lockName, lockToken, lockTTL)
	for _, tt := range []struct {
		op      *wire.Op
		forbids string
		missing bool // the name is free; else it is held with the token
	}{
		{op: ops.Extend(0), forbids: "get getrange"},
		{op: ops.Extend(0), forbids: "set", missing: true},
		{op: ops.Release(true), forbids: "del"},
	} {
		p := real(t, "redis-server", "~* &* +@all -"+strings.ReplaceAll(tt.forbids, " ", " -"))
		t.Run(fmt.Sprintf("%s without %s", tt.op.Name, tt.forbids), func(t *testing.T) {
			p.need(t)
			p.with(t, func(t *testing.T, s *server) {
				if !tt.missing {
					s.do(t, "set", lockName, lockToken, "px", 5000)
				}
				before := s.snapshot(t)
				messages := s.listen(t)
				v := s.ask(t, tt.op)
				assert.Equal(t, wire.Failed, v.Verdict)
				assert.False(t, v.Unsent)
				assert.True(t, node.Permanent(v.Err), "a right that a person must give: %v", v.Err)
				assert.Equal(t, before, s.snapshot(t))
				assert.Zero(t, messages())
			})
		})
	}
}

// All operations of all kinds fail so, in virtual time. Only a failed PUBLISH is ignored, and a failed GETRANGE is
// replaced by GET.
func TestEveryFailedCommandFailsItsScript(t *testing.T) {
	t.Parallel()
	commands := scriptCommands(t)
	fails := make(map[string]int) // how often each command failed
	for name, st := range steps() {
		if st.refused != "" {
			continue
		}
		virtual().with(t, func(t *testing.T, s *server) {
			begin := func() {
				s.master.Heal()
				s.master.Wipe()
				for _, args := range st.given {
					s.do(t, args...)
				}
			}
			begin()
			before := make(map[string]int)
			for _, cmd := range commands {
				before[cmd] = s.master.CountNested(cmd)
			}
			s.ask(t, st.op)
			for _, cmd := range commands {
				if s.master.CountNested(cmd) == before[cmd] {
					continue // the operation does not call it
				}
				begin()
				s.master.Reply("ERR The user executing the script can't run this command or subcommand", cmd)
				v := s.ask(t, st.op)
				fails[cmd]++
				assert.Equal(t, wire.Failed, v.Verdict, "%s without %s", name, cmd)
				assert.True(t, node.Permanent(v.Err), "%s without %s: %v", name, cmd, v.Err)
			}
		})
	}
	for _, cmd := range commands {
		assert.NotZero(t, fails[cmd], "%s: no step of the conformance test comes to it", cmd)
	}
}

// scriptCommands are the commands that scripts need.
func scriptCommands(t *testing.T) []string {
	t.Helper()
	found := make(map[string]bool)
	for _, text := range luaFiles(t) {
		for _, call := range regexp.MustCompile(`call\('([A-Z]+)'`).FindAllStringSubmatch(text, -1) {
			found[call[1]] = true
		}
	}
	delete(found, "PUBLISH")
	delete(found, "GETRANGE")
	return slices.Sorted(maps.Keys(found))
}

// luaFiles are the texts of all scripts, by file.
func luaFiles(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("lua/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	texts := make(map[string]string)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts[file] = string(text)
	}
	return texts
}
