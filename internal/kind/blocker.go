package kind

import (
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// Blocker is the lock that blocks a claim on one master. It is [wire.Vote.Data] of a denied acquire or probe.
type Blocker struct {
	Kind      string        // or the type of a foreign key; "": unknown
	NameIndex int           // in the claim's names
	TTL       time.Duration // negative: the key has none
	// Intent reports whether the probe left the waiter's intent.
	Intent bool
	// Token is the lock's token. Only a probe returns it. It is "" for a writer that waits.
	Token string
	// Slots is the number of slots if the blocker is a semaphore; 0: unknown.
	Slots int
	// Taken has a digit for each slot of the claim's semaphore: 1 if it is taken, otherwise 0. It is "" if the blocker is
	// no semaphore with as many slots. A granted probe has it, too.
	Taken string
}

// BlockerOf returns the blocker that a vote reports.
func BlockerOf(v wire.Vote) (_ Blocker, ok bool) {
	b, ok := v.Data.(Blocker)
	return b, ok
}

// LeftIntent reports whether an answered probe of the kind left the waiter's intent.
func (k *Kind) LeftIntent(v wire.Vote) bool {
	b, _ := BlockerOf(v)
	return k.Intents == IntentAlways || b.Intent
}

// claimReader returns a function that reads the reply of acquire or probe for a claim of so many names:
//
//   - a number: granted;
//   - {1, number}: granted, with the fencing token of the owner's other holds;
//   - {0, kind, TTL in milliseconds, which name, token, intent}: denied. The last three may be missing.
func claimReader(names int) func(reply any) wire.Vote {
	if names == 1 {
		return readSingleClaim
	}
	return func(reply any) wire.Vote { return readClaimReply(reply, names) }
}

func readSingleClaim(reply any) wire.Vote { return readClaimReply(reply, 1) }

func readClaimReply(reply any, names int) wire.Vote {
	fields, ok := reply.([]any)
	if !ok {
		if v := wire.ReadNumber(reply); v.Verdict == wire.Granted {
			return v
		}
		return wire.BadReply(reply)
	}
	if len(fields) == 0 {
		return malformed(reply, "acquire")
	}
	switch {
	case fields[0] == int64(1) && len(fields) == 2:
		if n, ok := fields[1].(int64); ok && n > 0 && isFence(n) {
			return wire.Vote{Verdict: wire.Granted, Number: n, Owned: true}
		}
	case fields[0] == int64(0) && len(fields) >= 3 && len(fields) <= 6:
		if b, ok := readBlocker(fields, names); ok {
			return wire.Vote{Verdict: wire.Denied, Wait: max(0, b.TTL), Data: b}
		}
	}
	return malformed(reply, "acquire")
}

// readBlocker reads a denial.
func readBlocker(fields []any, names int) (b Blocker, ok bool) {
	var isTTL bool
	b.Kind, ok = readKind(fields[1])
	b.TTL, isTTL = readTTL(fields[2])
	if !ok || !isTTL {
		return b, false
	}
	if len(fields) > 3 {
		which, _ := fields[3].(int64)
		if which < 1 || which > int64(names) {
			return b, false
		}
		b.NameIndex = int(which) - 1
	}
	if len(fields) > 4 {
		if b.Token, ok = fields[4].(string); !ok {
			return b, false
		}
		if b.Kind == Semaphore.Name {
			if b.Slots, _, b.Token, ok = readPermitToken(b.Token); !ok {
				return b, false
			}
		}
	}
	if len(fields) > 5 {
		b.Intent = fields[5] == int64(1)
		return b, b.Intent || fields[5] == int64(0)
	}
	return b, true
}
