package kind_test

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

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
	steps := make(map[string]step)
	for k, c := range map[string]claim{"a mutex": mutex, "an owner": owner} {
		steps["probe: "+k+" waits for a reader"] = step{
			given: read.made(), op: c.Probe(long), vote: intended(probed("reader", otherToken, short)),
			then: state{entries: read.entries, intents: entries{mine: long}}.is,
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
