package kind_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

const (
	hint     = 1000        // the smallest fencing token that is given
	otherKey = "orders:43" // the second name of a mutex on two
)

// Tokens as Lockers make them: an owner, and 32 digits.
var (
	holdToken  = tokenOf("host:1", "c")
	otherToken = tokenOf("host:2", "e")
)

func tokenOf(owner, digit string) string { return owner + ":" + strings.Repeat(digit, 32) }

// entryOf is a hold in the sorted set.
func entryOf(k, token string) string { return "redlock:" + k + ":" + token }

// claimOf is a claim on the name, as the tests make them.
func claimOf(k, token string, fencing bool) claim {
	return claim{Kind: k, Names: []string{lockName}, Token: token, TTL: lockTTL, Fencing: fencing, Hint: hint}
}

// claimsOfAll returns a claim of every kind, and one of a mutex on two names.
func claimsOfAll(fencing bool) map[string]claim {
	all := make(map[string]claim)
	for _, k := range allKinds() {
		c := claimOf(k, holdToken, fencing)
		c.Slot = 2 // of a semaphore: its fencing tokens are even
		all["a "+k] = c
	}
	two := all["a mutex"]
	two.Names = []string{otherKey, lockName}
	all["a mutex of two names"] = two
	return all
}

// held are the commands that make the claim's hold, for five seconds.
func (c claim) held() (commands [][]any) {
	for _, name := range c.Names {
		if c.Kind == "mutex" {
			commands = append(commands, []any{"set", name, c.Token, "px", 5000})
		} else {
			commands = append(commands, entries{c.entry(): 5 * time.Second}.made(name)...)
		}
	}
	return commands
}

// entry is the claim's hold in the sorted set.
func (c claim) entry() string {
	if c.Kind == "semaphore" {
		c = c.whole()
		return entryOf(c.Kind, fmt.Sprintf("%d:%d:%s", c.Slots, c.Slot, c.Token))
	}
	return entryOf(c.Kind, c.Token)
}

// isHeld returns an assertion that the name has only the claim's hold, and a fence; 0: none.
func (c claim) isHeld(fence int64) func(t *testing.T, s *server) {
	return func(t *testing.T, s *server) {
		t.Helper()
		wantState{kind: c.Kind, fence: fence, holds: entries{c.Token: c.TTL}}.is(t, s.ask(t, inspectOp(lockName)))
	}
}

// isFree asserts that the name has no key.
func isFree(t *testing.T, s *server) {
	t.Helper()
	assert.Zero(t, s.do(t, "exists", lockName))
}

// ownSteps are the steps that end a hold of every kind, or an intent, and publish that. The model has all others.
func ownSteps() map[string]step {
	all := make(map[string]step)
	const rest = time.Minute
	for who, c := range claimsOfAll(false) {
		kept := c
		kept.Token, kept.TTL = kind.KeptToken(c.Token), rest
		all["release: "+who] = step{op: c.Ops().Release(true), then: isFree}
		all["release by token: "+who] = step{op: kind.DefaultScripts.Release(lockName, c.Token), then: isFree}
		all["keep: "+who] = step{op: c.Ops().Keep(rest), then: kept.isHeld(0)}
		for _, name := range []string{"release: ", "release by token: ", "keep: "} {
			st := all[name+who]
			st.given, st.vote, st.said = c.held(), one, 1
			all[name+who] = st
		}
	}
	waiter := claimOf("writer", holdToken, false)
	waiter.Intent = "waiter"
	all["withdraw"] = step{
		given: entries{waiter.Intent: lockTTL, "ended": -time.Second}.made(kind.IntentKey(lockName)), op: waiter.Withdraw(),
		vote: one, said: 1, then: func(t *testing.T, s *server) { assert.Zero(t, s.do(t, "dbsize")) },
	}
	all["status"] = step{op: wire.StatusOp(), vote: wire.Vote{Verdict: wire.Granted}}
	mutex := claimOf("mutex", holdToken, false)
	all["extend: the script is unknown"] = step{
		given: append(mutex.held(), []any{"script", "flush"}), op: mutex.Ops().Extend(0), vote: one, then: mutex.isHeld(0),
	}
	permanent := [][]any{{"set", lockName, holdToken}}
	all["extend: a mutex without a TTL"] = step{
		given: permanent, op: mutex.Ops().Extend(0), vote: one, then: mutex.isHeld(0),
	}
	mutex.Names = []string{lockName, otherKey}
	all["probe: the one of two holds without a TTL"] = step{
		given: append(permanent, []any{"set", otherKey, "another", "px", 9000}), op: mutex.Probe(time.Second),
		vote: deniedBy(wantBlocker{kind: "mutex", token: holdToken, left: -1}),
	}
	return all
}

// foreignKey is a key of another program.
type foreignKey struct {
	given       [][]any // the commands that make it
	kind, token string
	left        time.Duration // negative: it has no TTL
}

// foreignKeys are keys of every type.
func foreignKeys() map[string]foreignKey {
	all := map[string]foreignKey{
		"an empty value": {given: [][]any{{"set", lockName, ""}}, kind: "mutex", left: -1},
		"another's value": {
			given: [][]any{{"set", lockName, "another", "px", 5000}}, kind: "mutex", token: "another", left: 5 * time.Second,
		},
	}
	for k, command := range map[string][]any{
		"hash": {"hset", lockName, holdToken, "1"}, "list": {"rpush", lockName, holdToken},
		"set":    {"sadd", lockName, holdToken},
		"zset":   {"zadd", lockName, "1", holdToken, "2", otherToken, "-5", "reader", "0", "redlock"},
		"stream": {"xadd", lockName, "1-1", holdToken, "1"},
	} {
		all["a "+k] = foreignKey{given: [][]any{command}, kind: k, left: -1}
		all["a "+k+" that expires"] = foreignKey{
			given: [][]any{command, {"pexpire", lockName, 5000}}, kind: k, left: 5 * time.Second,
		}
	}
	return all
}

// foreignSteps are the steps of every operation on a foreign key, which no operation changes.
func foreignSteps() map[string]step {
	all := make(map[string]step)
	for what, there := range foreignKeys() {
		add := func(name string, op *wire.Op, vote wire.Vote) {
			all[name+": "+what] = step{given: there.given, op: op, vote: vote}
		}
		state := inspected(wantState{kind: there.kind, holds: entries{there.token: there.left}})
		add("inspect", inspectOp(lockName), state)
		add("inspect alone", inspectAloneOp(lockName), state)
		for _, fencing := range []bool{false, true} {
			for who, c := range claimsOfAll(fencing) {
				who = fmt.Sprintf(" %s, fencing %v", who, fencing)
				by := wantBlocker{kind: there.kind, left: there.left, name: slices.Index(c.Names, lockName)}
				acquire := deniedBy(by)
				if c.Kind == "mutex" && len(c.Names) == 1 && !fencing {
					acquire = denied // SET NX does not report the blocker
				}
				add("acquire"+who, c.Ops().Acquire(), acquire)
				if c.Kind != "semaphore" {
					by.token = there.token
				}
				add("probe"+who, c.Probe(time.Second), deniedBy(by))
				if fencing {
					add("raise"+who, c.Ops().Raise(hint), denied)
				}
				add("extend"+who, c.Ops().Extend(hint), denied)
				add("release"+who, c.Ops().Release(true), denied)
				add("keep"+who, c.Ops().Keep(time.Second), denied)
				add("release by token"+who, kind.DefaultScripts.Release(lockName, c.Token), denied)
			}
		}
	}
	alike := tokenOf("most:1", "e") // "host:1" but for the first letter
	all["acquire: one of an owner with a similar name"] = step{
		given: claimOf("reentrant", alike, false).held(), op: claimOf("reentrant", holdToken, false).Ops().Acquire(),
		vote: deniedBy(wantBlocker{kind: "reentrant", left: 5 * time.Second}),
	}
	return all
}

// endedSteps are the steps on a key that outlives its last entry, as after a clock was set back.
func endedSteps() map[string]step {
	all := make(map[string]step)
	for _, fencing := range []bool{false, true} {
		for who, c := range claimsOfAll(fencing) {
			vote, fence := one, int64(0)
			if fencing {
				vote, fence = grant(hint), hint
			}
			if c.Kind == "mutex" && len(c.Names) == 1 && !fencing {
				continue // SET NX finds the key
			}
			all[fmt.Sprintf("acquire %s, fencing %v: others ended there", who, fencing)] = step{
				given: entries{entryOf("reader", otherToken): -time.Minute}.made(lockName), op: c.Ops().Acquire(), vote: vote,
				then: c.isHeld(fence),
			}
		}
	}
	for who, c := range claimsOfAll(false) {
		mine := entries{c.entry(): -time.Second}
		beside := entries{c.entry(): -time.Second, entryOf("reader", otherToken): -time.Minute}
		gone := func(t *testing.T, s *server) {
			t.Helper()
			assert.NotContains(t, s.scores(t, lockName), c.entry(), "it would come back if the clock were set back")
		}
		for what, given := range map[string]entries{"": mine, ", and another hold": beside} {
			if c.Kind != "mutex" {
				all["release "+who+": ended"+what] = step{
					given: given.made(lockName), op: c.Ops().Release(true), vote: denied, then: gone,
				}
				all["inspect "+who+": ended"+what] = step{
					given: given.made(lockName), op: inspectOp(lockName), vote: wire.Vote{Verdict: wire.Granted, Data: wantState{}},
				}
			}
		}
	}
	return all
}

// oddNames are names of any bytes, and any braces.
func oddNames() []string {
	return []string{
		" ", "\x00", "\xff\xfe\r\n", "käse 🧀", "*?[a-z]", "%a.%", strings.Repeat("x", 4_096),
		"{", "}", "{}", "{}x{y}", "a{b", "a}b{c}", "{a}b{c}", "{{a}}",
	}
}

// oddSteps are the steps of every kind under odd names.
func oddSteps() map[string]step {
	all := make(map[string]step)
	for i, name := range oddNames() {
		for who, c := range claimsOfAll(true) {
			c.Token, c.Slots, c.Slot = tokenOf("\x00 \xff\n:"+name, "f"), 1, 1
			c.Names = []string{name, "other " + name}[:len(c.Names)]
			all[fmt.Sprintf("acquire %s: odd name %d", who, i)] = step{op: c.Ops().Acquire(), vote: grant(hint), then: c.lives}
		}
	}
	return all
}

// lives asserts that a hold is seen, raised and extended under its name, blocks others, and ends with a release.
func (c claim) lives(t *testing.T, s *server) {
	t.Helper()
	name := c.Names[0]
	want := wantState{kind: c.Kind, holds: entries{c.Token: lockTTL}}
	want.is(t, s.ask(t, inspectAloneOp(name)))
	want.fence = hint
	want.is(t, s.ask(t, inspectOp(name)))
	other := c
	other.Token = otherToken
	if c.Kind == "reader" {
		other.Kind = "writer"
	}
	for _, op := range []*wire.Op{other.Ops().Acquire(), other.Probe(time.Second)} {
		by, _ := kind.BlockerOf(s.ask(t, op))
		assert.Equal(t, c.Kind, by.Kind)
	}
	assert.Equal(t, int64(hint+1), s.ask(t, c.Ops().Raise(hint+1)).Number)
	assert.Equal(t, wire.Granted, s.ask(t, c.Ops().Extend(hint+1)).Verdict)
	assert.Equal(t, wire.Granted, s.ask(t, c.Ops().Release(true)).Verdict)
	assert.Equal(t, wire.Granted, s.ask(t, inspectOp(name)).Verdict)
	fence := fmt.Sprint(hint + 1)
	if c.Kind == "reentrant" {
		fence += ":" + fence // the owner's
	}
	s.counts(t, name, fence, lockTTL+fenceLife)
	assert.EqualValues(t, len(c.Names), s.do(t, "dbsize"), "nothing is left but the fences")
}

// intentSteps are the steps with a foreign key where the intents of a name are, or at a name for which a writer waits.
func intentSteps() map[string]step {
	intents := kind.IntentKey(lockName)
	foreign := [][]any{{"set", intents, "foreign"}}
	all := make(map[string]step)
	for who, c := range claimsOfAll(false) {
		k := kind.Named(c.Kind)
		if k.Intents != kind.IntentNever {
			c.Intent = "waiter"
			all["withdraw: "+who] = step{given: foreign, op: c.Withdraw()}
		}
		if k.Intents != kind.IntentNever || k.KeptOut {
			read := claimOf("reader", otherToken, false).held()
			all["probe: "+who] = step{given: append(read, foreign...), op: c.Probe(time.Second)}
		}
		if k.NeedsSiblingKeys() {
			all["acquire: "+who] = step{given: foreign, op: c.Ops().Acquire()}
		}
	}
	for name, st := range all {
		st.vote, st.refused = broken, "WRONGTYPE"
		all[name] = st
	}
	writer := claimOf("writer", holdToken, false)
	all["acquire: a writer that does not wait"] = step{
		given: foreign, op: writer.Ops().Acquire(), vote: one, then: writer.isHeld(0),
	}
	all["release: a writer that does not wait"] = step{
		given: append(writer.held(), foreign...), op: writer.Ops().Release(true), vote: one, said: 1, then: isFree,
	}
	waits := writer
	waits.Intent = "waiter"
	all["probe: a writer waits for a foreign key"] = step{
		given: [][]any{{"zadd", lockName, "1", "foreign"}}, op: waits.Probe(lockTTL),
		vote: deniedBy(wantBlocker{kind: "zset", left: -1, intent: true}),
		then: func(t *testing.T, s *server) {
			t.Helper()
			assert.Contains(t, s.scores(t, intents), waits.Intent)
			assertLeft(t, lockTTL, s.left(t, intents))
			assert.Equal(t, "1", s.do(t, "zscore", lockName, "foreign"))
		},
	}
	named := make(map[string]step)
	for name, st := range all {
		named["intents: "+name] = st
	}
	return named
}
