package kind

import (
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// entries are the operations of the kinds whose holds are entries of a sorted set at the name: readers, a writer, or
// the holds of a reentrant lock's owner. Each entry has an expiry by the master's clock. With one expiry for all
// entries, a dead hold would live on another's renewals. A count in place of entries would drift between the masters.
type entries struct{ *Claim }

func (entries) Overlaps() bool { return false }

func (e entries) Acquire(t *quorum.Terms, hint time.Time) *wire.Op {
	args := []any{t.TTL.Milliseconds(), hintArg(t, hint), fenceTTL(t), e.Intent}
	return e.script(e.Scripts.entry.acquire, "acquire", claimReader(len(e.Target.Names)), args...).
		UndoneBy(e.Scripts.entry.release)
}

func (e entries) Raise(t *quorum.Terms, fence int64) *wire.Op {
	return e.script(e.Scripts.entry.raise, "raise", raiseReader(fence), fence, fenceTTL(t))
}

func (e entries) Extend(t *quorum.Terms, fence int64) *wire.Op {
	return e.script(e.Scripts.entry.extend, "extend", nil,
		t.TTL.Milliseconds(), fenceArg(fence), fenceTTL(t))
}

func (e entries) Release(announce bool) *wire.Op {
	name := e.Target.Names[0]
	channel := ""
	if announce {
		channel = Channel(name)
	}
	return e.Scripts.entry.release.Op("release", nil, e.Target.Names[:1], entryOf(e.Target.Kind, e.Token), channel).
		About(name).From(e.Origin)
}

func (e entries) Keep(rest time.Duration) *wire.Op {
	return e.keep(rest, entryOf(e.Target.Kind, KeptToken(e.Token)), entryOf(e.Target.Kind, e.Token))
}

// entryOf returns the entry of a hold.
func entryOf(k *Kind, token string) string { return "redlock:" + k.Name + ":" + token }

// keep returns the operation that replaces a hold by the entry kept, which ends after rest.
func (c *Claim) keep(rest time.Duration, kept, hold string) *wire.Op {
	name := c.Target.Names[0]
	return c.Scripts.entry.keep.Op("release", nil, c.Target.Names[:1],
		rest.Milliseconds(), kept, hold, Channel(name)).About(name).From(c.Origin)
}

func (e entries) probe(intentTTL time.Duration) *wire.Op {
	return e.script(e.Scripts.entry.probe, "probe", claimReader(len(e.Target.Names)), e.Intent, intentTTL.Milliseconds())
}

func (e entries) script(s *wire.Script, op string, read func(any) wire.Vote, args ...any) *wire.Op {
	name := e.Target.Names[0]
	keys := []string{name, FenceKey(name), IntentKey(name)}
	return s.Op(op, read, keys, append([]any{e.Target.Kind.Name, e.Token}, args...)...).About(name).From(e.Origin)
}
