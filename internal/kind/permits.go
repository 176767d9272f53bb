package kind

import (
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// permits are the operations of a semaphore: entries of a sorted set at the name, each with a slot. To the masters a
// slot is a mutex: it has at most one entry, and a majority of the masters grants it to one holder. So a semaphore
// never has more holders than slots. (Counts cannot decide that: with two permits and three masters, three holders can
// each be among the first two on a majority.)
type permits struct{ *Claim }

func (permits) Overlaps() bool { return true }

func (p permits) Acquire(t *quorum.Terms, hint time.Time) *wire.Op {
	args := []any{t.TTL.Milliseconds(), hintArg(t, hint), fenceTTL(t)}
	return p.script(p.Scripts.permit.acquire, "acquire", p.readPermit, t.Fencing, args...).
		UndoneBy(p.Scripts.permit.release)
}

func (p permits) Raise(t *quorum.Terms, fence int64) *wire.Op {
	return p.script(p.Scripts.permit.raise, "raise", raiseReader(fence), t.Fencing, fence, fenceTTL(t))
}

func (p permits) Extend(t *quorum.Terms, fence int64) *wire.Op {
	return p.script(p.Scripts.permit.extend, "extend", nil, t.Fencing,
		t.TTL.Milliseconds(), fenceArg(fence), fenceTTL(t))
}

func (p permits) Release(announce bool) *wire.Op {
	channel := ""
	if announce {
		channel = Channel(p.Target.Names[0])
	}
	return p.Scripts.permit.release.Op("release", nil, p.Target.Names[:1], p.entry(p.Token), channel, p.Slot).
		About(p.Target.Names[0]).From(p.Origin)
}

func (p permits) Keep(rest time.Duration) *wire.Op {
	return p.keep(rest, p.entry(KeptToken(p.Token)), p.entry(p.Token))
}

func (p permits) probe(time.Duration) *wire.Op {
	return p.script(p.Scripts.permit.probe, "probe", p.readPermit, false)
}

// entry returns the entry of a permit in the claim's slot.
func (p permits) entry(token string) string {
	return entryOf(p.Target.Kind, fmt.Sprintf("%d:%d:%s", p.Target.Slots, p.Slot, token))
}

func (p permits) script(
	s *wire.Script, op string, read func(any) wire.Vote, fencing bool, args ...any,
) *wire.Op {
	name := p.Target.Names[0]
	keys := []string{name}
	if fencing {
		keys = append(keys, FenceKey(name))
	}
	return s.Op(op, read, keys, append([]any{p.Target.Slots, p.Slot, p.Token}, args...)...).About(name).From(p.Origin)
}

// readPermit reads what acquire and probe return: a number for a grant; {1, slots} for a probe that found a free slot;
// {0, kind, TTL in milliseconds} for a denial by another lock, with its number of slots if that is a semaphore with
// another one; {0, kind, TTL in milliseconds, number of slots, slots} for a denial by the permits themselves. slots has
// a digit for each slot: 1 if it is taken.
func (p permits) readPermit(reply any) wire.Vote {
	fields, ok := reply.([]any)
	if !ok {
		return readSingleClaim(reply)
	}
	switch {
	case len(fields) == 2 && fields[0] == int64(1):
		if taken, ok := p.readSlots(fields[1]); ok {
			return wire.Vote{Verdict: wire.Granted, Number: 1, Data: Blocker{Kind: Semaphore.Name, Taken: taken}}
		}
	case len(fields) >= 3 && len(fields) <= 5 && fields[0] == int64(0):
		b, ok := readBlocker(fields[:3], 1)
		if ok && len(fields) > 3 {
			b.Slots, ok = readSlotCount(fields[3])
		}
		if ok && len(fields) > 4 {
			b.Taken, ok = p.readSlots(fields[4])
			ok = ok && b.Slots == p.Target.Slots
		}
		if ok {
			return wire.Vote{Verdict: wire.Denied, Wait: max(0, b.TTL), Data: b}
		}
	}
	return malformed(reply, "acquire")
}

// readSlots reads which slots are taken.
func (p permits) readSlots(field any) (taken string, ok bool) {
	taken, _ = field.(string)
	return taken, len(taken) == p.Target.Slots && strings.Trim(taken, "01") == ""
}
