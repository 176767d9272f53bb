package kind_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// Tokens as Lockers make them: an owner, and 32 digits.
var (
	holdToken  = tokenOf("host:1", "c")
	otherToken = tokenOf("host:2", "e")
)

func tokenOf(owner, digit string) string { return owner + ":" + strings.Repeat(digit, 32) }

// entryOf is a hold in the sorted set.
func entryOf(k, token string) string { return "redlock:" + k + ":" + token }

// held is a state in which a lock is held by one, for five seconds.
func held(k, token string) state {
	return state{entries: entries{entryOf(k, token): 5 * time.Second}}
}

// with is the state with a fence.
func (st state) with(fence string) state {
	st.fence = fence
	return st
}

// entryClaim is a claim on the name, as the tests make them.
func entryClaim(k, token string, fencing bool) claim {
	return claim{Kind: k, Names: []string{lockName}, Token: token, TTL: lockTTL, Fencing: fencing, Hint: hint}
}

// entrySteps are the steps that readers, writers and the holds of a reentrant lock share: the operations of one hold on
// a free name, on its own hold, and on another key.
func entrySteps(k string) map[string]step {
	all := make(map[string]step)
	add := func(name string, st step) { all[k+": "+name] = st }
	ops := entryClaim(k, holdToken, false).Ops()
	mine, long := held(k, holdToken), state{entries: entries{entryOf(k, holdToken): lockTTL}}
	ended := state{entries: entries{entryOf(k, holdToken): -time.Second, entryOf("reader", otherToken): -time.Minute}}

	add("acquire: others ended there", step{given: ended.made(), op: ops.Acquire(), vote: one, then: long.is})
	add("release: its own", step{given: mine.made(), op: ops.Release(true), vote: one, said: 1, then: state{}.is})
	free := func(t *testing.T, s *server) {
		t.Helper()
		wantState{}.is(t, s.ask(t, inspectOp(lockName)))
		// The hold does not come back if the clock is set back.
		entries{entryOf("reader", otherToken): -time.Minute}.are(t, s, lockName)
	}
	add("release: ended", step{given: ended.made(), op: ops.Release(true), vote: denied, then: free})
	add("release: ended, and no other hold", step{
		given: state{entries: entries{entryOf(k, holdToken): -time.Second}}.made(), op: ops.Release(true), vote: denied,
		then: state{}.is,
	})
	add("inspect: it alone", step{
		given: mine.with("7:6").made(), op: inspectAloneOp(lockName),
		vote: seen(k, holdToken, 5*time.Second),
	})
	add("inspect: ended", step{given: ended.made(), op: inspectOp(lockName), vote: seen("", "", 0)})

	maps.Copy(all, strangers(k))
	for i, name := range oddNames() {
		c := claim{
			Kind: k, Names: []string{name}, Token: tokenOf("\x00 \xff\n:"+name, "f"), TTL: lockTTL,
			Fencing: true, Hint: hint,
		}
		if i%2 == 0 { // alternately, so that acquire and release meet both
			add(fmt.Sprint("acquire: odd name ", i), step{op: c.Ops().Acquire(), vote: grant(hint), then: life(c, k)})
		} else {
			add(fmt.Sprint("extend: odd name ", i), step{op: c.Ops().Extend(hint), vote: healed, then: life(c, k)})
		}
	}
	return all
}

// life asserts that a hold is seen, raised and extended under its name, blocks others, and ends with a release.
func life(c claim, k string) func(t *testing.T, s *server) {
	return func(t *testing.T, s *server) {
		t.Helper()
		name := c.Names[0]
		wantState{kind: k, fence: hint, holds: entries{c.Token: lockTTL}}.is(t, s.ask(t, inspectOp(name)))
		other := c
		other.Token = otherToken
		if kind.Named(k).Sharing == kind.WithAll {
			other.Kind = "writer"
		}
		wantBlocker{kind: k, left: lockTTL}.is(t, s.ask(t, other.Ops().Acquire()))
		wantBlocker{kind: k, token: c.Token, left: lockTTL}.is(t, s.ask(t, other.Probe(time.Second)))
		assert.Equal(t, int64(hint+1), s.ask(t, c.Ops().Raise(hint+1)).Number)
		assert.Equal(t, wire.Granted, s.ask(t, c.Ops().Extend(hint+1)).Verdict)
		assert.Equal(t, wire.Granted, s.ask(t, c.Ops().Release(true)).Verdict)
		assert.Equal(t, wire.Granted, s.ask(t, inspectOp(name)).Verdict)
		fence := fmt.Sprint(hint + 1)
		if kind.Named(k).Nested() {
			fence += ":" + fence // the owner's
		}
		s.counts(t, name, fence, lockTTL+fenceLife)
		assert.EqualValues(t, 1, s.do(t, "dbsize"), "nothing is left but the fence")
	}
}

// strangers are the steps of a hold that a foreign key or hold blocks. No operation changes the blocker.
func strangers(k string) map[string]step {
	all := make(map[string]step)
	c, fenced := entryClaim(k, holdToken, false), entryClaim(k, holdToken, true)
	stranger := func(name string, given [][]any, kindThere, token string, left time.Duration) {
		none := denied
		for _, st := range []step{
			{op: c.Ops().Acquire(), vote: deniedBy(kindThere, left)},
			{op: fenced.Ops().Acquire(), vote: deniedBy(kindThere, left)},
			{op: c.Probe(time.Second), vote: probed(kindThere, token, left)},
			{op: fenced.Ops().Raise(99), vote: none},
			{op: c.Ops().Extend(0), vote: none},
			{op: fenced.Ops().Extend(99), vote: none},
			{op: c.Ops().Release(true), vote: none},
		} {
			st.given = given
			fencing := ""
			if all[k+": "+st.op.Name+": "+name].op != nil {
				fencing = ", with fencing"
			}
			all[k+": "+st.op.Name+": "+name+fencing] = st
		}
	}
	stranger("a mutex without a TTL", [][]any{{"set", lockName, ""}}, "mutex", "", -1)
	for foreign, key := range foreignKeys() {
		stranger("a "+foreign, [][]any{key}, foreign, "", -1)
		stranger("a "+foreign+" that expires", [][]any{key, {"pexpire", lockName, 5000}}, foreign, "", 5*time.Second)
	}
	if k == "reentrant" {
		alike := tokenOf("most:1", "e") // "host:1" but for the first letter
		stranger("one of an owner with a similar name", held(k, alike).made(), k, alike, 5*time.Second)
	}
	return all
}
