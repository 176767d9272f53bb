package kind_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// mutexSteps are the steps of a mutex on one name without fencing.
func mutexSteps() map[string]step {
	ops := mutexOps(lockName, lockToken, lockTTL)
	probe := claim{Kind: "mutex", Names: []string{lockName}, Token: lockToken}.Probe(time.Second)
	mine := []any{"set", lockName, lockToken, "px", 5000}
	withoutTTL := []any{"set", lockName, "another"}
	mineWithoutTTL := []any{"set", lockName, lockToken}
	granted := wire.Vote{Verdict: wire.Granted}
	held := func(t *testing.T, s *server) { s.holds(t, lockName, lockToken, lockTTL) }
	free := func(t *testing.T, s *server) { assert.Zero(t, s.do(t, "exists", lockName)) }

	all := map[string]step{
		"acquire: another's, without a TTL": {given: [][]any{withoutTTL}, op: ops.Acquire(), vote: denied},
		"acquire: an empty value":           {given: [][]any{{"set", lockName, ""}}, op: ops.Acquire(), vote: denied},
		"extend: its own, without a TTL":    {given: [][]any{mineWithoutTTL}, op: ops.Extend(0), vote: one, then: held},
		"extend: missing":                   {op: ops.Extend(0), vote: healed, then: held},
		"extend: another's, without a TTL":  {given: [][]any{withoutTTL}, op: ops.Extend(0), vote: denied},
		"release: its own, without a TTL": {
			given: [][]any{mineWithoutTTL}, op: ops.Release(true), vote: one, then: free, said: 1,
		},
		"inspect: a mutex, alone": {
			given: [][]any{mine}, op: inspectAloneOp(lockName), vote: seen("mutex", lockToken, 5*time.Second),
		},
		"inspect: a mutex, without a TTL": {
			given: [][]any{mineWithoutTTL}, op: inspectOp(lockName), vote: seen("mutex", lockToken, -1),
		},
		"inspect: an empty value": {
			given: [][]any{{"set", lockName, ""}}, op: inspectOp(lockName), vote: seen("mutex", "", -1),
		},
		"status": {op: wire.StatusOp(), vote: granted},
		"extend: the script is unknown": {
			given: [][]any{mine, {"script", "flush"}}, op: ops.Extend(0), vote: one, then: held,
		},
		"extend: an empty value":            {given: [][]any{{"set", lockName, ""}}, op: ops.Extend(0), vote: denied},
		"release: an empty value":           {given: [][]any{{"set", lockName, ""}}, op: ops.Release(true), vote: denied},
		"release: another's, without a TTL": {given: [][]any{withoutTTL}, op: ops.Release(true), vote: denied},
		"probe: another's, without a TTL":   {given: [][]any{withoutTTL}, op: probe, vote: probed("mutex", "another", -1)},
	}
	for k, given := range foreignKeys() {
		expiring := [][]any{given, {"pexpire", lockName, 5000}}
		all["acquire: a "+k] = step{given: [][]any{given}, op: ops.Acquire(), vote: denied}
		all["extend: a "+k] = step{given: expiring, op: ops.Extend(0), vote: denied}
		all["release: a "+k] = step{given: expiring, op: ops.Release(true), vote: denied}
		all["probe: a "+k] = step{given: expiring, op: probe, vote: deniedBy(k, 5*time.Second)}
		all["inspect: a "+k] = step{given: [][]any{given}, op: inspectOp(lockName), vote: seen(k, "", -1)}
		all["inspect: a "+k+" that expires"] = step{
			given: expiring, op: inspectOp(lockName), vote: seen(k, "", 5*time.Second),
		}
	}
	// Names are any bytes.
	for i, name := range oddNames() {
		ops := mutexOps(name, lockToken, lockTTL)
		given := []any{"set", name, lockToken, "px", 5000}
		is := func(t *testing.T, s *server) { s.holds(t, name, lockToken, lockTTL) }
		all[fmt.Sprint("acquire: odd name ", i)] = step{op: ops.Acquire(), vote: granted, then: is}
		all[fmt.Sprint("extend: odd name ", i)] = step{given: [][]any{given}, op: ops.Extend(0), vote: one, then: is}
		all[fmt.Sprint("release: odd name ", i)] = step{
			given: [][]any{given}, op: ops.Release(true), vote: one,
			then: func(t *testing.T, s *server) { assert.Zero(t, s.do(t, "exists", name)) },
		}
		all[fmt.Sprint("inspect: odd name ", i)] = step{
			given: [][]any{given}, op: inspectOp(name), vote: seen("mutex", lockToken, 5*time.Second),
		}
	}
	return all
}

// foreignKeys are the commands that make keys of other clients at the name, by the type of the key. No operation
// changes them.
func foreignKeys() map[string][]any {
	return map[string][]any{
		"hash": {"hset", lockName, lockToken, "1"}, "list": {"rpush", lockName, lockToken},
		"set":    {"sadd", lockName, lockToken},
		"zset":   {"zadd", lockName, "1", lockToken, "2", holdToken, "-5", "reader", "0", "redlock"},
		"stream": {"xadd", lockName, "1-1", lockToken, "1"},
	}
}

// oddNames are names of any bytes, and any braces.
func oddNames() []string {
	return []string{
		" ", "\x00", "\xff\xfe\r\n", "käse 🧀", "*?[a-z]", "%a.%", strings.Repeat("x", 4_096),
		"{", "}", "{}", "{}x{y}", "a{b", "a}b{c}", "{a}b{c}", "{{a}}",
	}
}

// permitSteps are the steps of a semaphore with two slots. The model has all others.
func permitSteps() map[string]step {
	permit := func(slots, slot, token string) string { return entryOf("semaphore", slots+":"+slot+":"+token) }
	mine, inSlot2 := permit("2", "1", holdToken), permit("2", "2", otherToken)
	there := permit("2", "1", otherToken)
	const short, long = 5 * time.Second, time.Minute
	c, fenced := entryClaim("semaphore", holdToken, false), entryClaim("semaphore", holdToken, true)
	all := map[string]step{
		"permit: acquire: ended": {
			given: holding(entries{there: -time.Second, inSlot2: short}).made(), op: c.Ops().Acquire(), vote: one,
			then: holding(entries{inSlot2: short, mine: lockTTL}).is,
		},
		"permit: release": {
			given: holding(entries{mine: long, inSlot2: short}).made(), op: c.Ops().Release(true), vote: one, said: 1,
			then: holding(entries{inSlot2: short}).is,
		},
		"permit: release: ended": {
			given: holding(entries{mine: -time.Second, inSlot2: short}).made(), op: c.Ops().Release(true), vote: denied,
			then: holding(entries{inSlot2: short}).is,
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

// keepSteps are the steps of a release that leaves the name taken.
func keepSteps() map[string]step {
	const rest = time.Minute
	m, writer := mutexOps(lockName, lockToken, lockTTL), entryClaim("writer", holdToken, false)
	kept := func(t *testing.T, s *server) { s.holds(t, lockName, kind.KeptToken(lockToken), rest) }
	return map[string]step{
		"mutex: keep: no TTL": {
			given: [][]any{{"set", lockName, lockToken}}, op: m.Keep(rest), vote: one, said: 1, then: kept,
		},
		"mutex: keep: no string": {given: [][]any{{"hset", lockName, "f", "v"}}, op: m.Keep(rest), vote: denied},
		"writer: keep": {
			given: held("writer", holdToken).made(), op: writer.Ops().Keep(rest), vote: one, said: 1,
			then: holding(entries{entryOf("writer", kind.KeptToken(holdToken)): rest}).is,
		},
	}
}

// tokenReleaseSteps are the steps of the release of a lock of any kind by its token.
func tokenReleaseSteps() map[string]step {
	const short, long = 5 * time.Second, time.Minute
	release := func(token string) *wire.Op { return kind.DefaultScripts.Release(lockName, token) }
	permit := func(slot, token string) string { return entryOf("semaphore", "2:"+slot+":"+token) }
	reader := entryOf("reader", holdToken)
	all := map[string]step{
		"mutex: no TTL": {given: [][]any{{"set", lockName, "x"}}, op: release("x"), vote: one, said: 1, then: state{}.is},
		"permit": {
			given: holding(entries{permit("1", holdToken): long, permit("2", otherToken): short}).made(),
			op:    release(holdToken), vote: one, said: 1, then: holding(entries{permit("2", otherToken): short}).is,
		},
		"reader: ended": {given: holding(entries{reader: -time.Second}).made(), op: release(holdToken), vote: denied},
	}
	for k, key := range foreignKeys() {
		all["a "+k] = step{given: [][]any{key}, op: release(holdToken), vote: denied}
	}
	named := make(map[string]step)
	for name, st := range all {
		named["release by token: "+name] = st
	}
	return named
}
