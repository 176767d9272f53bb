package kind_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// permitSteps are the steps of a semaphore with two slots.
func permitSteps() map[string]step {
	permit := func(slots, slot, token string) string { return entryOf("semaphore", slots+":"+slot+":"+token) }
	mine, inSlot2 := permit("2", "1", holdToken), permit("2", "2", otherToken)
	there := permit("2", "1", otherToken)
	const short, long = 5 * time.Second, time.Minute
	of := func(e entries) state { return state{entries: e} }
	c, fenced := entryClaim("semaphore", holdToken, false), entryClaim("semaphore", holdToken, true)
	one, denied := wire.Vote{Verdict: wire.Granted, Number: 1}, wire.Vote{Verdict: wire.Denied}
	grant := func(n int64) wire.Vote { return wire.Vote{Verdict: wire.Granted, Number: n} }
	full := func(taken string, left time.Duration) wire.Vote {
		return wire.Vote{Verdict: wire.Denied, Data: wantBlocker{kind: "semaphore", left: left, slots: 2, taken: taken}}
	}
	healed := wire.Vote{Verdict: wire.Denied, Healed: true}
	all := map[string]step{
		"permit: acquire: free": {op: c.Ops().Acquire(), vote: one, then: of(entries{mine: lockTTL}).is},
		"permit: acquire: ended": {
			given: of(entries{there: -time.Second, inSlot2: short}).made(), op: c.Ops().Acquire(), vote: one,
			then: of(entries{inSlot2: short, mine: lockTTL}).is,
		},
		"permit: acquire: fenced": {
			given: state{}.with("last", "1007").made(), op: fenced.Ops().Acquire(), vote: grant(1009),
			then: of(entries{mine: lockTTL}).with("last", "1009").is,
		},
		"permit: raise": {
			given: of(entries{mine: short}).with("last", "3").made(), op: fenced.Ops().Raise(5), vote: grant(5),
			then: of(entries{mine: short}).with("last", "5").is,
		},
		"permit: extend": {
			given: of(entries{mine: short}).made(), op: c.Ops().Extend(0), vote: one, then: of(entries{mine: lockTTL}).is,
		},
		"permit: extend: fenced": {
			given: of(entries{mine: short}).with("last", "3").made(), op: fenced.Ops().Extend(5), vote: one,
			then: of(entries{mine: lockTTL}).with("last", "5").is,
		},
		"permit: extend: missing": {
			given: of(entries{inSlot2: short}).made(), op: c.Ops().Extend(0), vote: healed,
			then: of(entries{inSlot2: short, mine: lockTTL}).is,
		},
		"permit: release": {
			given: of(entries{mine: long, inSlot2: short}).made(), op: c.Ops().Release(true), vote: one, said: 1,
			then: of(entries{inSlot2: short}).is,
		},
		"permit: release: ended": {
			given: of(entries{mine: -time.Second, inSlot2: short}).made(), op: c.Ops().Release(true), vote: denied,
			then: of(entries{inSlot2: short}).is,
		},
		"permit: probe: full": {
			given: of(entries{there: short, inSlot2: long}).made(), op: c.Probe(0), vote: full("11", short),
		},
		"permit: inspect": {
			given: of(entries{mine: short, inSlot2: long}).with("last", "7").made(), op: inspectOp(lockName),
			vote: wire.Vote{
				Verdict: wire.Denied,
				Data:    wantState{kind: "semaphore", fence: 7, holds: entries{holdToken: short, otherToken: long}},
			},
		},
		"permit: keep": {
			given: of(entries{mine: long, inSlot2: short}).made(), op: c.Ops().Keep(time.Second), vote: one,
			then: of(entries{permit("2", "1", kind.KeptToken(holdToken)): time.Second, inSlot2: short}).is,
		},
	}
	for k, key := range foreignKeys() {
		for name, st := range map[string]step{
			"acquire": {op: c.Ops().Acquire(), vote: deniedBy(k, -1)}, "raise": {op: fenced.Ops().Raise(5), vote: denied},
			"acquire: fenced": {op: fenced.Ops().Acquire(), vote: deniedBy(k, -1)},
			"extend":          {op: c.Ops().Extend(0), vote: denied}, "release": {op: c.Ops().Release(true), vote: denied},
			"keep": {op: c.Ops().Keep(time.Second), vote: denied},
		} {
			st.given = [][]any{key}
			all["permit: "+name+": a "+k] = st
		}
	}
	return all
}

// near asserts the TTL of the lock's key, as far as a busy machine allows.
func near(t *testing.T, s *server, want time.Duration) {
	t.Helper()
	assert.InDelta(t, want.Milliseconds(), s.do(t, "pttl", lockName), 20_000)
}

// keepSteps are the steps of a release that leaves the name taken.
func keepSteps() map[string]step {
	denied, one := wire.Vote{Verdict: wire.Denied}, wire.Vote{Verdict: wire.Granted, Number: 1}
	const rest = time.Minute
	m := mutexOps(lockName, lockToken, lockTTL)
	all := map[string]step{
		"mutex: keep": {
			given: [][]any{{"set", lockName, lockToken, "px", 300_000}}, op: m.Keep(rest), vote: one,
			then: func(t *testing.T, s *server) {
				assert.Equal(t, "min-hold:"+lockToken, s.do(t, "get", lockName))
				near(t, s, rest)
			},
		},
		"mutex: keep: no TTL": {
			given: [][]any{{"set", lockName, lockToken}}, op: m.Keep(rest), vote: one,
			then: func(t *testing.T, s *server) { near(t, s, rest) },
		},
		"mutex: keep: repeated": {
			given: [][]any{{"set", lockName, "min-hold:" + lockToken, "px", 60_000}}, op: m.Keep(5 * rest), vote: one,
			then: func(t *testing.T, s *server) { near(t, s, rest) },
		},
		"mutex: keep: no string": {given: [][]any{{"hset", lockName, "f", "v"}}, op: m.Keep(rest), vote: denied},
		"mutex: extend: kept": {
			given: [][]any{{"set", lockName, "min-hold:" + lockToken, "px", 300_000}}, op: m.Extend(0), vote: denied,
		},
	}
	for _, k := range entryKinds() {
		ops := entryClaim(k, holdToken, false).Ops()
		kept := state{entries: entries{entryOf(k, kind.KeptToken(holdToken)): rest}}
		all[k+": keep"] = step{given: held(k, holdToken).made(), op: ops.Keep(rest), vote: one, then: kept.is}
		all[k+": keep: repeated"] = step{given: kept.made(), op: ops.Keep(2 * rest), vote: one, then: kept.is}
	}
	return all
}
