package kind

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// entries are the operations of the kinds whose holds are entries of a sorted set at the name: readers, a writer, or
// the holds of a reentrant lock's owner. Each entry has an expiry by the master's clock. With one expiry for all
// entries, a dead hold would live on another's renewals. A count in place of entries would drift between the masters.
type entries struct{ *Claim }

func (e entries) Acquire() *node.Op {
	args := []any{e.Terms.TTL.Milliseconds(), e.hintArg(), e.fenceTTL(), e.Intent}
	return e.script(e.Scripts.entry.acquire, "acquire", readClaim(len(e.Target.Names)), args...).
		UndoneBy(e.Scripts.entry.release)
}

func (e entries) Raise(fence int64) *node.Op {
	return e.script(e.Scripts.entry.raise, "raise", readRaise(fence), fence, e.fenceTTL())
}

func (e entries) Extend(fence int64) *node.Op {
	return e.script(e.Scripts.entry.extend, "extend", nil,
		e.Terms.TTL.Milliseconds(), fenceArg(fence), e.fenceTTL(), Channel(e.Target.Names[0]))
}

func (e entries) Release(announce bool) *node.Op {
	channel, intent := "", ""
	if announce {
		channel, intent = Channel(e.Target.Names[0]), e.Intent
	}
	return e.script(e.Scripts.entry.release, "release", nil, channel, intent)
}

func (e entries) probe(intentTTL time.Duration) *node.Op {
	return e.script(e.Scripts.entry.probe, "probe", readClaim(len(e.Target.Names)), e.Intent, intentTTL.Milliseconds())
}

func (e entries) script(s *node.Script, op string, read func(any) node.Vote, args ...any) *node.Op {
	name := e.Target.Names[0]
	keys := []string{name, FenceKey(name), IntentKey(name)}
	return s.Op(op, read, keys, append([]any{e.Target.Kind.Name, e.Token}, args...)...).About(name)
}
