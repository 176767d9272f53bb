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
		"acquire: free":                     {op: ops.Acquire(), vote: granted, then: held},
		"acquire: another's, without a TTL": {given: [][]any{withoutTTL}, op: ops.Acquire(), vote: denied},
		"acquire: an empty value":           {given: [][]any{{"set", lockName, ""}}, op: ops.Acquire(), vote: denied},
		"extend: its own":                   {given: [][]any{mine}, op: ops.Extend(0), vote: one, then: held},
		"extend: its own, without a TTL":    {given: [][]any{mineWithoutTTL}, op: ops.Extend(0), vote: one, then: held},
		"extend: missing":                   {op: ops.Extend(0), vote: healed, then: held},
		"extend: another's, without a TTL":  {given: [][]any{withoutTTL}, op: ops.Extend(0), vote: denied},
		"release: its own":                  {given: [][]any{mine}, op: ops.Release(true), vote: one, then: free, said: 1},
		"release: its own, without a TTL": {
			given: [][]any{mineWithoutTTL}, op: ops.Release(true), vote: one, then: free, said: 1,
		},
		"inspect: a mutex": {
			given: [][]any{mine}, op: inspectOp(lockName), vote: seen("mutex", lockToken, 5*time.Second),
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
		"release: the script is unknown": {
			given: [][]any{mine, {"script", "flush"}}, op: ops.Release(true), vote: one, then: free, said: 1,
		},
		"inspect: the script is unknown": {
			given: [][]any{mine, {"script", "flush"}}, op: inspectOp(lockName),
			vote: seen("mutex", lockToken, 5*time.Second),
		},
		"probe: another's, without a TTL": {given: [][]any{withoutTTL}, op: probe, vote: probed("mutex", "another", -1)},
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
		all[fmt.Sprint(
			"release: odd name ", i,
		)] = step{given: [][]any{given}, op: ops.Release(true), vote: one, then: func(t *testing.T, s *server) {
			assert.Zero(t, s.do(t, "exists", name))
		}}
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
		"permit: keep": {
			given: holding(entries{mine: long, inSlot2: short}).made(), op: c.Ops().Keep(time.Second), vote: one, said: 1,
			then: holding(entries{permit("2", "1", kind.KeptToken(holdToken)): time.Second, inSlot2: short}).is,
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
	const rest = time.Minute
	m := mutexOps(lockName, lockToken, lockTTL)
	all := map[string]step{
		"mutex: keep": {
			given: [][]any{{"set", lockName, lockToken, "px", 300_000}}, op: m.Keep(rest), vote: one, said: 1,
			then: func(t *testing.T, s *server) {
				assert.Equal(t, "min-hold:"+lockToken, s.do(t, "get", lockName))
				near(t, s, rest)
			},
		},
		"mutex: keep: no TTL": {
			given: [][]any{{"set", lockName, lockToken}}, op: m.Keep(rest), vote: one, said: 1,
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
		all[k+": keep"] = step{given: held(k, holdToken).made(), op: ops.Keep(rest), vote: one, said: 1, then: kept.is}
		all[k+": keep: repeated"] = step{given: kept.made(), op: ops.Keep(2 * rest), vote: one, then: kept.is}
	}
	return all
}

// tokenReleaseSteps are the steps of the release of a lock of any kind by its token.
func tokenReleaseSteps() map[string]step {
	const short, long = 5 * time.Second, time.Minute
	release := func(token string) *wire.Op { return kind.DefaultScripts.Release(lockName, token) }
	permit := func(slot, token string) string { return entryOf("semaphore", "2:"+slot+":"+token) }
	keptToken := kind.KeptToken(holdToken)

	mutex := func(token string) [][]any { return [][]any{{"set", lockName, token, "px", 5000}} }
	all := map[string]step{
		"mutex":            {given: mutex(lockToken), op: release(lockToken), vote: one, said: 1, then: state{}.is},
		"mutex: no TTL":    {given: [][]any{{"set", lockName, "x"}}, op: release("x"), vote: one, said: 1, then: state{}.is},
		"mutex: another's": {given: mutex(lockToken), op: release(lockToken + "x"), vote: denied},
		"mutex: kept": {
			given: mutex(kind.KeptToken(lockToken)), op: release(kind.KeptToken(lockToken)), vote: one, said: 1,
			then: state{}.is,
		},
		"mutex: kept, by its old token": {given: mutex(kind.KeptToken(lockToken)), op: release(lockToken), vote: denied},
		"free":                          {op: release(lockToken), vote: denied},
		"permit": {
			given: holding(entries{permit("1", holdToken): long, permit("2", otherToken): short}).made(),
			op:    release(holdToken), vote: one, said: 1, then: holding(entries{permit("2", otherToken): short}).is,
		},
		"permit: kept": {
			given: holding(entries{permit("1", keptToken): short}).made(), op: release(keptToken), vote: one, said: 1,
			then: state{}.is,
		},
		"permit: another's": {
			given: holding(entries{permit("1", otherToken): short}).made(), op: release(holdToken), vote: denied,
		},
		"permit: ended": {
			given: holding(entries{permit("1", otherToken): short, permit("2", holdToken): -time.Second}).made(),
			op:    release(holdToken), vote: denied,
		},
	}
	for _, k := range entryKinds() {
		mine := entryOf(k, holdToken)
		maps.Copy(all, map[string]step{
			k: {given: holding(entries{mine: short}).made(), op: release(holdToken), vote: one, said: 1, then: state{}.is},
			k + " kept": {
				given: holding(entries{entryOf(k, keptToken): short}).made(), op: release(keptToken), vote: one, said: 1,
				then: state{}.is,
			},
			k + ": another's": {given: holding(entries{mine: short}).made(), op: release(otherToken), vote: denied},
			k + ": ended":     {given: holding(entries{mine: -time.Second}).made(), op: release(holdToken), vote: denied},
		})
	}
	for k, other := range sharedKinds() {
		stays := entryOf(k, other)
		all[k+": another stays"] = step{
			given: holding(entries{entryOf(k, holdToken): long, stays: short}).made(), op: release(holdToken), vote: one,
			then: holding(entries{stays: short}).is,
		}
		all[k+": another has ended"] = step{
			given: holding(entries{entryOf(k, holdToken): long, stays: -time.Second}).made(), op: release(holdToken), vote: one,
			said: 1, then: state{}.is,
		}
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
