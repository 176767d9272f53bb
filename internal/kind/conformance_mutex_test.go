package kind_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/wire"
)

// mutexSteps are the steps of a mutex on one name without fencing.
func mutexSteps() map[string]step {
	ops := mutexOps(lockName, lockToken, lockTTL)
	probe := claim{Kind: "mutex", Names: []string{lockName}, Token: lockToken}.Probe(time.Second)
	mine := []any{"set", lockName, lockToken, "px", 5000}
	withoutTTL := []any{"set", lockName, "another"}
	mineWithoutTTL := []any{"set", lockName, lockToken}
	granted, denied := wire.Vote{Verdict: wire.Granted}, wire.Vote{Verdict: wire.Denied}
	one := wire.Vote{Verdict: wire.Granted, Number: 1}
	held := func(t *testing.T, s *server) { s.holds(t, lockName, lockToken, lockTTL) }
	free := func(t *testing.T, s *server) { assert.Zero(t, s.do(t, "exists", lockName)) }

	all := map[string]step{
		"acquire: free":                     {op: ops.Acquire(), vote: granted, then: held},
		"acquire: another's, without a TTL": {given: [][]any{withoutTTL}, op: ops.Acquire(), vote: denied},
		"acquire: an empty value":           {given: [][]any{{"set", lockName, ""}}, op: ops.Acquire(), vote: denied},
		"extend: its own":                   {given: [][]any{mine}, op: ops.Extend(0), vote: one, then: held},
		"extend: its own, without a TTL":    {given: [][]any{mineWithoutTTL}, op: ops.Extend(0), vote: one, then: held},
		"extend: missing": {
			op: ops.Extend(0), vote: wire.Vote{Verdict: wire.Denied, Healed: true}, then: held,
		},
		"extend: another's, without a TTL": {given: [][]any{withoutTTL}, op: ops.Extend(0), vote: denied},
		"release: its own":                 {given: [][]any{mine}, op: ops.Release(true), vote: one, then: free, said: 1},
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
