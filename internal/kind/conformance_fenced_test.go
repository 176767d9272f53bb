package kind_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
)

const (
	hint = 1000 // the smallest fencing token that is given
	// most is a fencing token that a double can hold, but loses digits if it is printed as one.
	most     = 1<<53 - 2
	otherKey = "orders:43" // the second name of a lock on both
)

// fencedSteps are the steps of a mutex with fencing on one name, and of a mutex on two names with and without fencing.
func fencedSteps() map[string]step {
	all := make(map[string]step)
	for _, names := range [][]string{{lockName}, {lockName, otherKey}} {
		for _, fencing := range []bool{true, false} {
			if fencing || len(names) > 1 {
				several{names, fencing}.add(all)
			}
		}
	}
	c := claim{Kind: "mutex", Names: []string{lockName}, Token: lockToken, TTL: lockTTL, Fencing: true, Hint: hint}
	fence := kind.FenceKey(lockName)
	// The holder that set a longer life of the fence may have ended, or may still hold the name.
	for last, n := range map[int64]int64{7: hint, hint: hint + 1} {
		all[fmt.Sprintf("acquire: a fence of %d with a longer TTL", last)] = step{
			given: [][]any{{"set", fence, last, "px", (2 * fenceLife).Milliseconds()}}, op: c.Ops().Acquire(),
			vote: grant(n), then: several{c.Names, true}.held(n),
		}
	}
	all["acquire: what was the owner's of a reentrant lock"] = step{
		given: [][]any{{"set", fence, "1007:1005", "px", 5000}}, op: c.Ops().Acquire(),
		vote: grant(hint + 8), then: several{c.Names, true}.held(hint + 8),
	}
	all["probe: the one of two holds without a TTL"] = step{
		given: [][]any{{"set", lockName, "another"}, {"set", otherKey, "another", "px", 9000}},
		op:    claim{Kind: "mutex", Names: []string{lockName, otherKey}}.Probe(time.Second),
		vote:  probed("mutex", "another", -1),
	}
	for i, name := range oddNames() {
		c.Names = []string{name, "other " + name}
		all[fmt.Sprint("acquire of two: odd name ", i)] = step{
			op: c.Ops().Acquire(), vote: grant(hint),
			then: several{c.Names, true}.held(hint),
		}
	}
	return all
}

// several makes the steps of a mutex on names.
type several struct {
	names   []string
	fencing bool
}

func (m several) add(all map[string]step) {
	ops := claim{Kind: "mutex", Names: m.names, Token: lockToken, TTL: lockTTL, Fencing: m.fencing, Hint: hint}.Ops()
	fence, vote := int64(0), one // of an extension, and of an acquire
	if m.fencing {
		fence, vote = 5, grant(hint)
	}
	add := func(name string, st step) {
		all[fmt.Sprintf("%s, %d names, fencing %v", name, len(m.names), m.fencing)] = st
	}

	add("acquire: a reader ended there", step{
		given: entries{"redlock:reader:" + holdToken: -time.Second}.made(lockName), op: ops.Acquire(), vote: vote,
		then: m.held(hint),
	})
	for k, key := range foreignKeys() {
		add("acquire: a "+k, step{given: [][]any{key}, op: ops.Acquire(), vote: deniedBy(k, -1)})
		if m.fencing {
			add("raise: a "+k, step{given: [][]any{key}, op: ops.Raise(5), vote: denied})
		}
		add("extend: a "+k, step{given: [][]any{key, {"pexpire", lockName, 5000}}, op: ops.Extend(fence), vote: denied})
	}
}

// mine are the commands that make the mutex held.
func (m several) mine() (commands [][]any) {
	for _, name := range m.names {
		commands = append(commands, []any{"set", name, lockToken, "px", 5000})
	}
	return commands
}

// held asserts that the mutex is held, and that each name has the fence.
func (m several) held(fence int64) func(t *testing.T, s *server) {
	return func(t *testing.T, s *server) {
		t.Helper()
		keys := len(m.names)
		for _, name := range m.names {
			s.holds(t, name, lockToken, lockTTL)
			if m.fencing {
				keys++
				s.counts(t, name, fmt.Sprint(fence), lockTTL+fenceLife)
			}
		}
		assert.EqualValues(t, keys, s.do(t, "dbsize"), "there is no other key")
	}
}
