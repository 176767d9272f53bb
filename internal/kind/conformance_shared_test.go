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

// sharedSteps are the steps of several simultaneous holds.
func sharedSteps() map[string]step {
	all := make(map[string]step)
	one, denied, healed := wire.Vote{Verdict: wire.Granted, Number: 1}, wire.Vote{Verdict: wire.Denied}, wire.Vote{
		Verdict: wire.Denied, Healed: true,
	}
	for k, partner := range sharedKinds() {
		add := func(name string, st step) { all[k+": "+name] = st }
		c, fenced := entryClaim(k, holdToken, false), entryClaim(k, holdToken, true)
		mine, others, third := entryOf(k, holdToken), entryOf(k, partner), entryOf(k, partner+"'")
		if kind.Named(k).Nested() {
			third = entryOf(k, tokenOf("host:1", "9"))
		}
		of := func(e entries) state { return state{entries: e} }
		const short, long = 5 * time.Second, time.Hour

		add("acquire: with another", step{
			given: of(entries{others: short}).made(), op: c.Ops().Acquire(), vote: one,
			then: of(entries{others: short, mine: lockTTL}).is,
		})
		add("acquire: with one that lasts longer", step{
			given: of(entries{others: long}).made(), op: c.Ops().Acquire(), vote: one,
			then: of(entries{others: long, mine: lockTTL}).is,
		})
		add("acquire: with another, and one that ended", step{
			given: of(entries{others: short, third: -time.Second}).made(), op: c.Ops().Acquire(), vote: one,
			then: of(entries{others: short, mine: lockTTL}).is,
		})
		add("acquire: its own, again", step{
			given: of(entries{mine: short, others: long}).made(), op: c.Ops().Acquire(), vote: one,
			then: of(entries{others: long, mine: lockTTL}).is,
		})
		add("extend: with one that lasts longer", step{
			given: of(entries{mine: short, others: long}).made(), op: c.Ops().Extend(0), vote: one,
			then: of(entries{others: long, mine: lockTTL}).is,
		})
		add("extend: to less than it had", step{
			given: of(entries{mine: long, others: short}).made(), op: c.Ops().Extend(0), vote: one,
			then: of(entries{others: short, mine: lockTTL}).is,
		})
		add("extend: missing with another", step{
			given: of(entries{others: short}).made(), op: c.Ops().Extend(0), vote: healed,
			then: of(entries{others: short, mine: lockTTL}).is,
		})
		add("extend: ended with another", step{
			given: of(entries{mine: -time.Second, others: short}).made(), op: c.Ops().Extend(0), vote: healed,
			then: of(entries{others: short, mine: lockTTL}).is,
		})
		add("raise: ended with another", step{given: of(entries{mine: -time.Second, others: short}).made(), op: fenced.Ops().
			Raise(5), vote: denied})
		add("raise: missing with another", step{given: of(entries{others: short}).made(), op: fenced.Ops().
			Raise(5), vote: denied})
		add("release: another stays", step{
			given: of(entries{mine: short, others: long}).made(), op: c.Ops().Release(true), vote: one,
			then: of(entries{others: long}).is,
		})
		add("release: one stays that ends sooner", step{
			given: of(entries{mine: long, others: short}).made(), op: c.Ops().Release(true), vote: one,
			then: of(entries{others: short}).is,
		})
		add("release: one stays that has ended", step{
			given: of(entries{mine: short, others: -time.Second}).made(), op: c.Ops().Release(true), vote: one, said: 1,
			then: state{}.is,
		})
		add("release: missing with another", step{given: of(entries{others: short}).made(), op: c.Ops().
			Release(true), vote: denied})
		add("probe: with another", step{given: of(entries{others: short}).made(), op: c.Probe(time.Second), vote: one})
		add("inspect: two, and one that ended", step{
			given: of(entries{mine: short, others: long, third: -time.Second}).with("last", "6", "owned", "6").made(),
			op:    inspectOp(lockName),
			vote: wire.Vote{
				Verdict: wire.Denied, Data: wantState{kind: k, fence: 6, holds: entries{holdToken: short, partner: long}},
			},
		})
		add("inspect: without a fence", step{
			given: held(k, holdToken).made(), op: inspectOp(lockName), vote: seen(k, holdToken, short),
		})
	}
	addFences(all)

	both := held("reentrant", innerToken)
	both.entries[entryOf("reentrant", holdToken)] = time.Second
	all["writer: acquire: several in the way"] = step{
		given: both.made(), op: entryClaim("writer", otherToken, false).Ops().Acquire(),
		vote: deniedBy("reentrant", 5*time.Second),
	}
	again := held("writer", holdToken)
	all["writer: acquire: its own, again"] = step{
		given: again.made(), op: entryClaim("writer", holdToken, false).Ops().Acquire(),
		vote: deniedBy("writer", 5*time.Second),
	}
	return all
}

// addFences adds the steps in which readers, or the holds of an owner, share one fencing token.
func addFences(all map[string]step) {
	grant := func(n int64) wire.Vote { return wire.Vote{Verdict: wire.Granted, Number: n} }
	partner := func(k, there string) state {
		return state{entries: entries{entryOf(k, there): 5 * time.Second, entryOf(k, holdToken): lockTTL}}
	}
	acquire := func(k string) *wire.Op { return entryClaim(k, holdToken, true).Ops().Acquire() }
	inner := held("reentrant", innerToken)
	all["reader: acquire: with another, with fencing"] = step{
		given: held("reader", otherToken).with("last", "1007").made(), op: acquire("reader"), vote: grant(1007),
		then: partner("reader", otherToken).with("last", "1007").is,
	}
	all["reader: acquire: with another, which has no fencing token"] = step{
		given: held("reader", otherToken).made(), op: acquire("reader"), vote: grant(hint),
		then: partner("reader", otherToken).with("last", "1000").is,
	}
	all["reader: acquire: with another, with the first fencing token"] = step{
		given: held("reader", otherToken).with("last", "1").made(), op: acquire("reader"), vote: grant(1),
		then: partner("reader", otherToken).with("last", "1").is,
	}
	ended := state{entries: entries{entryOf("reader", otherToken): -time.Second}}
	all["reader: acquire: others ended there, with fencing"] = step{ // the count that remains may be older than a lost one
		given: ended.with("last", "7").made(), op: acquire("reader"), vote: grant(hint),
		then: state{entries: entries{entryOf("reader", holdToken): lockTTL}}.with("last", "1000").is,
	}
	all["reentrant: acquire: the owner has a fencing token"] = step{
		given: inner.with("last", "1007", "owned", "1005").made(), op: acquire("reentrant"),
		vote: wire.Vote{Verdict: wire.Granted, Number: 1005, Owned: true},
		then: partner("reentrant", innerToken).with("last", "1007", "owned", "1005").is,
	}
	all["reentrant: acquire: the owner has none yet"] = step{
		given: inner.with("last", "1007").made(), op: acquire("reentrant"), vote: grant(1008),
		then: partner("reentrant", innerToken).with("last", "1008", "owned", "1008").is,
	}
	all["reentrant: acquire: the owner has a fencing token, and does not ask"] = step{
		given: inner.with("last", "1007", "owned", "1007").made(),
		op:    entryClaim("reentrant", holdToken, false).Ops().Acquire(),
		vote:  grant(1), then: partner("reentrant", innerToken).untouched("last", "1007", "owned", "1007").is,
	}
	all["reentrant: extend: what an earlier owner had"] = step{
		given: state{}.with("last", "1007", "owned", "1007").made(),
		op:    entryClaim("reentrant", holdToken, false).Ops().Extend(0),
		vote:  wire.Vote{Verdict: wire.Denied, Healed: true},
		then:  state{entries: entries{entryOf("reentrant", holdToken): lockTTL}}.untouched("last", "1007").is,
	}
}

// intentSteps are the steps of exclusive waiters.
func intentSteps() map[string]step {
	const mine, others, third = "writer 1", "writer 2", "writer 3"
	one, denied := wire.Vote{Verdict: wire.Granted, Number: 1}, wire.Vote{Verdict: wire.Denied}
	writer := entryClaim("writer", holdToken, false)
	writer.Intent = mine
	reader := entryClaim("reader", holdToken, false)
	waits := func(e entries) state { return state{intents: e} }
	under := func(st state, e entries) state {
		st.intents = e
		return st
	}
	read, wrote := entries{entryOf("reader", holdToken): lockTTL}, entries{entryOf("writer", holdToken): lockTTL}
	const short, long = 5 * time.Second, 8 * time.Second
	steps := map[string]step{
		"probe: a writer waits": {op: writer.Probe(long), vote: one, then: waits(entries{mine: long}).is},
		"probe: a writer waits for a reader": {
			given: held("reader", otherToken).made(), op: writer.Probe(long),
			vote: intended(probed("reader", otherToken, short)),
			then: under(held("reader", otherToken), entries{mine: long}).is,
		},
		"probe: a writer waits on": {
			given: waits(entries{mine: short, others: short, third: -time.Second}).made(), op: writer.Probe(long), vote: one,
			then: waits(entries{mine: long, others: short}).is,
		},
		"probe: a writer waits, another longer": {
			given: waits(entries{others: time.Minute}).made(), op: writer.Probe(long), vote: one,
			then: waits(entries{mine: long, others: time.Minute}).is,
		},
		"probe: a writer waits for a foreign key": {
			given: [][]any{{"zadd", lockName, "1", "foreign"}}, op: writer.Probe(long), vote: intended(deniedBy("zset", -1)),
			then: func(t *testing.T, s *server) {
				t.Helper()
				entries{mine: long}.are(t, s, kind.IntentKey(lockName))
				assert.Equal(t, "1", s.do(t, "zscore", lockName, "foreign"))
			},
		},
		"probe: a reader, while writers wait": {
			given: waits(entries{mine: time.Second, others: short}).made(), op: reader.Probe(long),
			vote: deniedBy("writer", short),
		},
		"probe: a reader with one, while a writer waits": {
			given: under(held("reader", otherToken), entries{others: short}).made(), op: reader.Probe(long),
			vote: deniedBy("writer", short),
		},
		"probe: a reader, when the writer's intent has ended": {
			given: waits(entries{mine: -time.Second}).made(), op: reader.Probe(long), vote: one,
		},
		"probe: a reentrant lock does not mind the writers": {
			given: waits(entries{mine: short}).made(), op: entryClaim("reentrant", holdToken, false).Probe(long), vote: one,
		},

		"acquire: a reader, while a writer waits": {
			given: waits(entries{mine: short}).made(), op: reader.Ops().Acquire(), vote: deniedBy("writer", short),
		},
		"acquire: a reader with one, while a writer waits": {
			given: under(held("reader", otherToken), entries{mine: short}).made(), op: reader.Ops().Acquire(),
			vote: deniedBy("writer", short),
		},
		"acquire: a reader, when the writer's intent has ended": {
			given: waits(entries{mine: -time.Second}).made(), op: reader.Ops().Acquire(),
			vote: one, then: func(t *testing.T, s *server) {
				t.Helper()
				read.are(t, s, lockName)
			},
		},
		"acquire: the writer that waits": {
			given: waits(entries{mine: short}).made(), op: writer.Ops().Acquire(), vote: one, then: state{entries: wrote}.is,
		},
		"acquire: one of the writers that wait": {
			given: waits(entries{mine: short, others: short}).made(), op: writer.Ops().Acquire(), vote: one,
			then: state{entries: wrote, intents: entries{others: short}}.is,
		},
		"acquire: a writer is denied, and waits on": {
			given: under(held("reader", otherToken), entries{mine: short}).made(), op: writer.Ops().Acquire(),
			vote: deniedBy("reader", short),
		},
		"extend: a reader, while a writer waits": {
			given: under(held("reader", holdToken), entries{mine: short}).made(), op: reader.Ops().Extend(0), vote: one,
			then: state{entries: read, intents: entries{mine: short}}.is,
		},
		"release: the last reader, while a writer waits": {
			given: under(held("reader", holdToken), entries{mine: short}).made(), op: reader.Ops().Release(true), vote: one,
			said: 1,
			then: waits(entries{mine: short}).is,
		},
		"release: a writer, not its intent": {
			given: under(held("writer", holdToken), entries{mine: short, others: short}).made(), op: writer.Ops().Release(true),
			vote: one, said: 1,
			then: waits(entries{mine: short, others: short}).is,
		},
		"release: a failed writer, that waits on": {
			given: under(held("writer", holdToken), entries{mine: short}).made(), op: writer.Ops().Release(false), vote: one,
			then: waits(entries{mine: short}).is,
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
		"withdraw: another waits": {
			given: waits(entries{mine: short, others: short}).made(), op: writer.Withdraw(), vote: one,
			then: waits(entries{others: short}).is,
		},
		"withdraw: twice":     {given: waits(entries{others: short}).made(), op: writer.Withdraw(), vote: denied},
		"withdraw: no waiter": {op: writer.Withdraw(), vote: denied},
		"withdraw: silently": {
			given: waits(entries{mine: short}).made(), op: writer.WithdrawSilently(), vote: one, then: state{}.is,
		},
		"withdraw: its own has ended": {
			given: waits(entries{mine: -time.Second, others: short}).made(), op: writer.Withdraw(), vote: denied,
			then: waits(entries{others: short}).is,
		},
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
		st.given, st.vote, st.refused = foreign, wire.Vote{Verdict: wire.Failed}, "WRONGTYPE"
		steps[name+", a foreign key where the intents are"] = st
	}
	fenced := entryClaim("writer", holdToken, true) // a writer that does not wait needs no intents
	steps["acquire: a writer that does not wait, a foreign key where the intents are"] = step{
		given: foreign, op: fenced.Ops().Acquire(), vote: wire.Vote{Verdict: wire.Granted, Number: hint},
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
	const mine, others, second = "waiter 1", "waiter 2", "{" + lockName + "}:second"
	const short, long = 5 * time.Second, 8 * time.Second
	one := wire.Vote{Verdict: wire.Granted, Number: 1}
	owner := entryClaim("reentrant", holdToken, false)
	owner.Intent = mine
	mutex := claim{Kind: "mutex", Names: []string{lockName}, Token: lockToken, TTL: lockTTL, Intent: mine}
	several := mutex
	several.Names = []string{second, lockName}
	read := held("reader", otherToken)
	waited := func(e entries) state { return state{entries: read.entries, intents: e} }
	steps := make(map[string]step)
	for k, c := range map[string]claim{"a mutex": mutex, "an owner": owner} {
		steps["probe: "+k+" waits for a reader"] = step{
			given: read.made(), op: c.Probe(long), vote: intended(probed("reader", otherToken, short)),
			then: waited(entries{mine: long}).is,
		}
		steps["probe: "+k+" waits on for a reader"] = step{
			given: waited(entries{mine: short, others: time.Minute}).made(), op: c.Probe(long),
			vote: intended(probed("reader", otherToken, short)),
			then: waited(entries{mine: long, others: time.Minute}).is,
		}
		steps["probe: "+k+" waits for a reader that has ended"] = step{
			given: state{entries: entries{entryOf("reader", otherToken): -time.Second}}.made(), op: c.Probe(long), vote: one,
		}
		steps["probe: "+k+" waits for no lock"] = step{op: c.Probe(long), vote: one}
		steps["probe: "+k+" waits for a mutex"] = step{
			given: [][]any{{"set", lockName, "another", "px", 5000}}, op: c.Probe(long), vote: probed("mutex", "another", short),
		}
		for _, there := range []string{"writer", "reentrant"} {
			steps["probe: "+k+" waits for another's "+there] = step{
				given: held(there, otherToken).made(), op: c.Probe(long), vote: probed(there, otherToken, short),
			}
		}
		steps["withdraw: "+k] = step{
			given: waited(entries{mine: short}).made(), op: c.Withdraw(), vote: one, said: 1, then: read.is,
		}
		foreign := [][]any{{"set", kind.IntentKey(lockName), "foreign"}}
		refused := wire.Vote{Verdict: wire.Failed}
		steps["withdraw: "+k+", a foreign key where the intents are"] = step{
			given: foreign, op: c.Withdraw(), vote: refused, refused: "WRONGTYPE",
		}
		steps["probe: "+k+", a foreign key where the intents are"] = step{
			given: append(read.made(), foreign...), op: c.Probe(long), vote: refused, refused: "WRONGTYPE",
		}
	}
	mutex.Intent = ""
	steps["probe: a mutex that does not wait, for a reader"] = step{
		given: read.made(), op: mutex.Probe(long), vote: probed("reader", otherToken, short), then: read.is,
	}
	steps["acquire: the owner that waits"] = step{
		given: state{intents: entries{mine: short, others: short}}.made(), op: owner.Ops().Acquire(), vote: one,
		then: state{entries: entries{entryOf("reentrant", holdToken): lockTTL}, intents: entries{others: short}}.is,
	}
	steps["probe: a mutex of several names, a reader at one"] = step{
		given: read.made(), op: several.Probe(long), vote: wire.Vote{
			Verdict: wire.Denied, Data: wantBlocker{kind: "reader", token: otherToken, name: 1, left: short, intent: true},
		},
		then: func(t *testing.T, s *server) {
			t.Helper()
			waited(entries{mine: long}).is(t, s)
			assert.Zero(t, s.do(t, "exists", kind.IntentKey(second)), "no reader is kept out of the other name")
		},
	}
	steps["probe: a mutex of several names, a reader at one, and a mutex for longer at the other"] = step{
		given: append(read.made(), []any{"set", second, "another", "px", 7000}), op: several.Probe(long),
		vote: intended(probed("mutex", "another", 7*time.Second)), then: func(t *testing.T, s *server) {
			t.Helper()
			waited(entries{mine: long}).is(t, s)
		},
	}
	both := append(state{intents: entries{mine: short}}.made(), []any{"zadd", kind.IntentKey(second), in(short), mine})
	steps["withdraw: a mutex of several names"] = step{
		given: append(both, []any{"zadd", kind.IntentKey(second), in(short), others}), op: several.Withdraw(), vote: one,
		said: 1,
		then: func(t *testing.T, s *server) {
			t.Helper()
			state{}.is(t, s)
			assert.Nil(t, s.do(t, "zscore", kind.IntentKey(second), mine))
			assert.NotNil(t, s.do(t, "zscore", kind.IntentKey(second), others))
		},
	}
	return steps
}

// takeSharedLife checks that each of several simultaneous holds ends by itself, even if others are renewed.
func takeSharedLife(t *testing.T, s *server) {
	const ttl, brief = 2 * time.Second, 300 * time.Millisecond
	granted := func(op *wire.Op) bool { return s.ask(t, op).Verdict == wire.Granted }
	for k, partner := range sharedKinds() {
		claim := func(k, token string, ttl time.Duration) claim {
			return claim{Kind: k, Names: []string{lockName}, Token: token, TTL: ttl}
		}
		a, b, writer := claim(k, holdToken, ttl), claim(k, partner, brief), claim("writer", tokenOf("host:3", "9"), ttl)
		mutex := mutexOps(lockName, lockToken, ttl)
		began := time.Now()
		require.True(t, granted(a.Ops().Acquire()))
		require.True(t, granted(b.Ops().Acquire()))
		for time.Since(began) < ttl*5/4 { // often, so that a busy machine does not miss one
			assert.False(t, granted(writer.Ops().Acquire()))
			time.Sleep(ttl / 10)
			require.True(t, granted(a.Ops().Extend(0)), "it was extended in time")
		}
		wantState{kind: k, holds: entries{holdToken: ttl}}.is(t, s.ask(t, inspectOp(lockName)))
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
