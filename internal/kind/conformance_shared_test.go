package kind_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// sharedSteps are the steps of several simultaneous holds that the model does not have.
func sharedSteps() map[string]step {
	all := make(map[string]step)
	for k, partner := range sharedKinds() {
		mine, others, third := entryOf(k, holdToken), entryOf(k, partner), entryOf(k, partner+"'")
		if kind.Named(k).Nested() {
			third = entryOf(k, tokenOf("host:1", "9"))
		}
		const short = 5 * time.Second
		all[k+": acquire: with another, and one that ended"] = step{
			given: holding(entries{others: short, third: -time.Second}).made(),
			op:    entryClaim(k, holdToken, false).Ops().Acquire(), vote: one,
			then: holding(entries{others: short, mine: lockTTL}).is,
		}
	}
	ended := state{entries: entries{entryOf("reader", otherToken): -time.Second}}
	all["reader: acquire: others ended there, with fencing"] = step{ // the count that remains may be older than a lost one
		given: ended.with("last", "7").made(), op: entryClaim("reader", holdToken, true).Ops().Acquire(),
		vote: grant(hint),
		then: state{entries: entries{entryOf("reader", holdToken): lockTTL}}.with("last", "1000").is,
	}
	all["reentrant: extend: what an earlier owner had"] = step{
		given: state{}.with("last", "1007", "owned", "1007").made(),
		op:    entryClaim("reentrant", holdToken, false).Ops().Extend(0),
		vote:  healed,
		then:  state{entries: entries{entryOf("reentrant", holdToken): lockTTL}}.untouched("last", "1007").is,
	}
	return all
}

// intentSteps are the steps of exclusive waiters.
func intentSteps() map[string]step {
	const mine, others, third = "writer 1", "writer 2", "writer 3"
	writer := entryClaim("writer", holdToken, false)
	writer.Intent = mine
	reader := entryClaim("reader", holdToken, false)
	waits := func(e entries) state { return state{intents: e} }
	wrote := entries{entryOf("writer", holdToken): lockTTL}
	const short, long = 5 * time.Second, 8 * time.Second
	steps := map[string]step{
		"probe: a writer waits on": {
			given: waits(entries{mine: short, others: short, third: -time.Second}).made(),
			op:    writer.Probe(long), vote: one,
			then: waits(entries{mine: long, others: short}).is,
		},
		"probe: a writer waits for a foreign key": {
			given: [][]any{{"zadd", lockName, "1", "foreign"}},
			op:    writer.Probe(long), vote: intended(deniedBy("zset", -1)),
			then: func(t *testing.T, s *server) {
				t.Helper()
				entries{mine: long}.are(t, s, kind.IntentKey(lockName))
				assert.Equal(t, "1", s.do(t, "zscore", lockName, "foreign"))
			},
		},
		"withdraw: alone": {
			given: waits(entries{mine: short}).made(), op: writer.Withdraw(), vote: one, said: 1, then: state{}.is,
		},
		"withdraw: the last": {given: waits(entries{mine: short, others: -time.Second}).
			made(), op: writer.Withdraw(), vote: one, said: 1, then: func(t *testing.T, s *server) {
			t.Helper()
			wantState{}.is(t, s.ask(t, inspectOp(lockName)))
			if s.ask(t, reader.Probe(long)).Verdict != wire.Granted {
				t.Error("a reader is kept out")
			}
		}},
	}
	maps.Copy(steps, exclusiveSteps())
	foreign := [][]any{{"set", kind.IntentKey(lockName), "foreign"}}
	for name, st := range map[string]step{
		"acquire: a reader":  {op: reader.Ops().Acquire()},
		"acquire: a writer":  {op: writer.Ops().Acquire()},
		"probe: a reader":    {op: reader.Probe(long)},
		"probe: a writer":    {op: writer.Probe(long)},
		"withdraw: a writer": {op: writer.Withdraw()},
	} {
		st.given, st.vote, st.refused = foreign, broken, "WRONGTYPE"
		steps[name+", a foreign key where the intents are"] = st
	}
	fenced := entryClaim("writer", holdToken, true) // a writer that does not wait needs no intents
	steps["acquire: a writer that does not wait, a foreign key where the intents are"] = step{
		given: foreign, op: fenced.Ops().Acquire(), vote: grant(hint),
		then: func(t *testing.T, s *server) {
			t.Helper()
			wrote.are(t, s, lockName)
		},
	}
	steps["release: a writer that does not wait, a foreign key where the intents are"] = step{
		given: append(held("writer", holdToken).made(), foreign...), op: fenced.Ops().Release(true), vote: one, said: 1,
		then: func(t *testing.T, s *server) {
			t.Helper()
			entries{}.are(t, s, lockName)
		},
	}
	return steps
}

// exclusiveSteps are the steps of a waiting mutex and of a waiting owner: they leave an intent only at names that
// readers hold.
func exclusiveSteps() map[string]step {
	const mine = "waiter 1"
	const short, long = 5 * time.Second, 8 * time.Second
	owner := entryClaim("reentrant", holdToken, false)
	owner.Intent = mine
	mutex := claim{Kind: "mutex", Names: []string{lockName}, Token: lockToken, TTL: lockTTL, Intent: mine}
	read := held("reader", otherToken)
	waited := func(e entries) state { return state{entries: read.entries, intents: e} }
	steps := make(map[string]step)
	for k, c := range map[string]claim{"a mutex": mutex, "an owner": owner} {
		steps["probe: "+k+" waits for a reader"] = step{
			given: read.made(), op: c.Probe(long), vote: intended(probed("reader", otherToken, short)),
			then: waited(entries{mine: long}).is,
		}
		steps["probe: "+k+" waits for a reader that has ended"] = step{
			given: state{entries: entries{entryOf("reader", otherToken): -time.Second}}.made(),
			op:    c.Probe(long), vote: one,
		}
		foreign := [][]any{{"set", kind.IntentKey(lockName), "foreign"}}
		steps["withdraw: "+k+", a foreign key where the intents are"] = step{
			given: foreign, op: c.Withdraw(), vote: broken, refused: "WRONGTYPE",
		}
		steps["probe: "+k+", a foreign key where the intents are"] = step{
			given: append(read.made(), foreign...), op: c.Probe(long), vote: broken, refused: "WRONGTYPE",
		}
	}
	return steps
}

// takeSharedLife checks that each of several simultaneous holds ends by itself, even if others are renewed.
func takeSharedLife(t *testing.T, s *server) {
	const ttl, brief, long = 4 * time.Second, 300 * time.Millisecond, time.Minute
	granted := func(op *wire.Op) bool { return s.ask(t, op).Verdict == wire.Granted }
	for k, partner := range sharedKinds() {
		claim := func(k, token string, ttl time.Duration) claim {
			return claim{Kind: k, Names: []string{lockName}, Token: token, TTL: ttl}
		}
		a, b, writer := claim(k, holdToken, ttl), claim(k, partner, brief), claim("writer", tokenOf("host:3", "9"), long)
		mutex := mutexOps(lockName, lockToken, long)
		began := time.Now()
		require.True(t, granted(a.Ops().Acquire()))
		require.True(t, granted(b.Ops().Acquire()))
		for time.Since(began) < ttl*5/4 { // often, so that a busy machine does not miss one
			assert.False(t, granted(writer.Ops().Acquire()))
			time.Sleep(ttl / 10)
			require.True(t, granted(a.Ops().Extend(0)), "it was extended in time")
		}
		require.True(t, granted(claim(k, holdToken, long).Ops().Extend(0)))
		wantState{kind: k, holds: entries{holdToken: long}}.is(t, s.ask(t, inspectOp(lockName)))
		assert.False(t, granted(b.Ops().Release(true)), "it ended by itself")
		require.True(t, granted(b.Ops().Acquire()))
		require.True(t, granted(a.Ops().Release(true)))
		time.Sleep(brief + 50*time.Millisecond)
		require.True(t, granted(mutex.Acquire()), "no holder, also to a plain SET NX")
		assert.False(t, granted(b.Ops().Extend(0)))
		require.True(t, granted(mutex.Release(true)))
		require.True(t, granted(b.Ops().Acquire()))
		time.Sleep(brief + 50*time.Millisecond)
		require.True(t, granted(writer.Ops().Acquire()), "it ended by itself")
		assert.False(t, granted(b.Ops().Release(true)))
		require.True(t, granted(writer.Ops().Release(true)))
	}
}
