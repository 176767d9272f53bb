package kind_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
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
	mine := []any{"set", lockName, lockToken, "px", 5000}
	fence := kind.FenceKey(lockName)
	foreign := []any{"rpush", fence, "foreign"}
	for name, op := range map[string]*wire.Op{"acquire": c.Ops().Acquire(), "inspect": inspectOp(lockName)} {
		st := step{given: [][]any{foreign}, op: op, vote: broken, refused: "WRONGTYPE"}
		if name == "inspect" {
			st.given = append(st.given, mine)
		}
		all[name+": a foreign key where the fence is"] = st
	}
	for _, op := range []*wire.Op{c.Ops().Raise(hint), c.Ops().Extend(hint)} {
		all[op.Name+": a foreign key where the fence is"] = step{
			given: [][]any{mine, foreign}, op: op, vote: broken, refused: "WRONGTYPE",
		}
	}
	maps.Copy(all, noFenceSteps())
	// The holder that set a longer life of the fence may have ended, or may still hold the name.
	for _, last := range []int64{7, hint, hint + 7} {
		n := max(hint, last+1)
		all[fmt.Sprintf("acquire: a fence of %d with a longer TTL", last)] = step{
			given: [][]any{{"set", fence, last, "px", (2 * fenceLife).Milliseconds()}}, op: c.Ops().Acquire(),
			vote: grant(n),
			then: func(t *testing.T, s *server) {
				t.Helper()
				s.holds(t, lockName, lockToken, lockTTL)
				s.counts(t, lockName, map[string]string{"last": fmt.Sprint(n)}, lockTTL+fenceLife)
			},
		}
	}
	all["acquire: what was the owner's of a reentrant lock"] = step{
		given: [][]any{{"set", fence, "1007:1005", "px", 5000}}, op: c.Ops().Acquire(),
		vote: grant(hint + 8), then: several{c.Names, true}.held(hint + 8),
	}
	for _, op := range []*wire.Op{c.Ops().Raise(9), c.Ops().Extend(9)} {
		all[op.Name+": a fence with a longer TTL"] = step{
			given: [][]any{mine, {"set", fence, 7, "px", (2 * fenceLife).Milliseconds()}}, op: op,
			vote: grant(map[string]int64{"raise": 9, "extend": 1}[op.Name]),
			then: func(t *testing.T, s *server) {
				t.Helper()
				s.counts(t, lockName, map[string]string{"last": "9"}, 2*fenceLife)
			},
		}
	}
	all["inspect: a mutex with a fence"] = step{
		given: [][]any{mine, {"set", fence, fmt.Sprintf("%d:7", int64(most))}}, op: inspectOp(lockName),
		vote: inspected(wantState{kind: "mutex", fence: most, holds: entries{lockToken: 5 * time.Second}}),
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

// noFences are strings that are no fence: a fencing token has only digits.
var noFences = []string{"foreign", "7:x", "1e2", "-5", "+5", "0x10", " 7 ", "7.0", "7\n", "7\x00"}

// noFenceSteps are the steps of every operation that reads a fence, with a foreign string in its place.
func noFenceSteps() map[string]step {
	all := make(map[string]step)
	for _, foreign := range noFences {
		fence := []any{"set", kind.FenceKey(lockName), foreign}
		add := func(what string, op *wire.Op, given ...[]any) {
			all[fmt.Sprintf("%s, %s: %q where the fence is", op.Name, what, foreign)] = step{
				given: append(given, fence), op: op, vote: broken, refused: "is no fence",
			}
		}
		for _, names := range [][]string{{lockName}, {lockName, otherKey}} {
			ops := claim{Kind: "mutex", Names: names, Token: lockToken, TTL: lockTTL, Fencing: true, Hint: hint}.Ops()
			what, mine := fmt.Sprintf("%d names", len(names)), several{names, true}.mine()
			add(what, ops.Acquire())
			add(what, ops.Raise(hint), mine...)
			add(what, ops.Extend(hint), mine...)
		}
		for _, k := range entryKinds() {
			ops, mine := entryClaim(k, holdToken, true).Ops(), held(k, holdToken).made()
			add(k, ops.Acquire())
			add(k, ops.Raise(hint), mine...)
			add(k, ops.Extend(hint), mine...)
		}
		add("a mutex", inspectOp(lockName), several{[]string{lockName}, true}.mine()...)
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
	fence := int64(0) // for an extension
	granted := func(int64) wire.Vote { return one }
	if m.fencing {
		fence = 5
		granted = grant
	}
	add := func(name string, st step) {
		all[fmt.Sprintf("%s, %d names, fencing %v", name, len(m.names), m.fencing)] = st
	}

	add("acquire: free", step{op: ops.Acquire(), vote: granted(hint), then: m.held(hint)})
	add("acquire: so much that it is not to be rounded",
		step{given: m.count(most), op: ops.Acquire(), vote: granted(most + 1), then: m.held(most + 1)},
	)
	add("acquire: a reader ended there", step{
		given: entries{"redlock:reader:" + holdToken: -time.Second}.made(lockName), op: ops.Acquire(), vote: granted(hint),
		then: m.held(hint),
	})

	add("extend: its own", step{given: m.mine(), op: ops.Extend(fence), vote: one, then: m.held(5)})
	add("extend: missing", step{op: ops.Extend(fence), vote: healed, then: m.held(5)})

	add("release: its own",
		step{given: append(m.mine(), m.count(9)...), op: ops.Release(true), vote: one, said: 1, then: m.free(9)},
	)

	if m.fencing {
		add("raise: its own", step{given: m.mine(), op: ops.Raise(5), vote: granted(5), then: m.raised(5)})
		add("raise: so much that it is not to be rounded",
			step{given: m.mine(), op: ops.Raise(most), vote: granted(most), then: m.raised(most)},
		)
		for k, key := range foreignKeys() {
			add("raise: a "+k, step{given: [][]any{key}, op: ops.Raise(5), vote: denied})
		}
	}
	for k, key := range foreignKeys() {
		add("acquire: a "+k, step{given: [][]any{key}, op: ops.Acquire(), vote: deniedBy(k, -1)})
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

// count are those that make n the last fencing token of the last name. The others have given less.
func (m several) count(n int64) (commands [][]any) {
	for i := range m.names {
		key := kind.FenceKey(m.names[len(m.names)-1-i])
		commands = append(commands, []any{"set", key, n - int64(i), "px", 5000})
	}
	if !m.fencing {
		return nil
	}
	return commands
}

// held asserts that the mutex is held, with a fence.
func (m several) held(fence int64) func(t *testing.T, s *server) {
	return m.is(lockTTL, fence)
}

// raised asserts that it is held for as long as it was given, with a fence.
func (m several) raised(fence int64) func(t *testing.T, s *server) {
	return m.is(5*time.Second, fence)
}

// is asserts that the mutex is held, and that each name has the fence.
func (m several) is(ttl time.Duration, fence int64) func(t *testing.T, s *server) {
	return func(t *testing.T, s *server) {
		t.Helper()
		keys := len(m.names)
		for _, name := range m.names {
			s.holds(t, name, lockToken, ttl)
			if m.fencing {
				keys++
				s.counts(t, name, map[string]string{"last": fmt.Sprint(fence)}, lockTTL+fenceLife)
			}
		}
		assert.EqualValues(t, keys, s.do(t, "dbsize"), "there is no other key")
	}
}

// free asserts that the mutex is free and that the fence is unchanged.
func (m several) free(fence int64) func(t *testing.T, s *server) {
	return func(t *testing.T, s *server) {
		t.Helper()
		for i, name := range m.names {
			assert.Zero(t, s.do(t, "exists", name))
			if m.fencing && fence > 0 {
				n := fence - int64(len(m.names)-1-i)
				s.counts(t, name, map[string]string{"last": fmt.Sprint(n)}, 5*time.Second)
			}
		}
	}
}
