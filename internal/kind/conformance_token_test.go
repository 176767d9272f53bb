package kind_test

import (
	"maps"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// tokenReleaseSteps are the steps of the release of a lock of any kind by its token.
func tokenReleaseSteps() map[string]step {
	const short, long = 5 * time.Second, time.Minute
	one, denied := wire.Vote{Verdict: wire.Granted, Number: 1}, wire.Vote{Verdict: wire.Denied}
	of := func(e entries) state { return state{entries: e} }
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
			given: of(entries{permit("1", holdToken): long, permit("2", otherToken): short}).made(),
			op:    release(holdToken), vote: one, said: 1, then: of(entries{permit("2", otherToken): short}).is,
		},
		"permit: kept": {
			given: of(entries{permit("1", keptToken): short}).made(), op: release(keptToken), vote: one, said: 1,
			then: state{}.is,
		},
		"permit: another's": {
			given: of(entries{permit("1", otherToken): short}).made(), op: release(holdToken), vote: denied,
		},
		"permit: ended": {
			given: of(entries{permit("1", otherToken): short, permit("2", holdToken): -time.Second}).made(),
			op:    release(holdToken), vote: denied,
		},
	}
	for _, k := range entryKinds() {
		mine := entryOf(k, holdToken)
		maps.Copy(all, map[string]step{
			k: {given: of(entries{mine: short}).made(), op: release(holdToken), vote: one, said: 1, then: state{}.is},
			k + " kept": {
				given: of(entries{entryOf(k, keptToken): short}).made(), op: release(keptToken), vote: one, said: 1,
				then: state{}.is,
			},
			k + ": another's": {given: of(entries{mine: short}).made(), op: release(otherToken), vote: denied},
			k + ": ended":     {given: of(entries{mine: -time.Second}).made(), op: release(holdToken), vote: denied},
		})
	}
	for k, other := range sharedKinds() {
		stays := entryOf(k, other)
		all[k+": another stays"] = step{
			given: of(entries{entryOf(k, holdToken): long, stays: short}).made(), op: release(holdToken), vote: one,
			then: of(entries{stays: short}).is,
		}
		all[k+": another has ended"] = step{
			given: of(entries{entryOf(k, holdToken): long, stays: -time.Second}).made(), op: release(holdToken), vote: one,
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
