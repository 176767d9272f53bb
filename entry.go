package redlock

import (
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// entry is every kind of lock whose holds are entries of a sorted set at the name, each with an expiry of its own by the
// master's clock: readers, a writer, or the holds of a reentrant lock's owner. One expiry for all of them would let a dead
// hold live on another's renewals; a count of them would drift between the masters.
type entry struct{ *claim }

var _ quorum.Ops = entry{}

func (e entry) Acquire() *node.Op {
	args := []any{e.ttl.Milliseconds(), e.hintArg(), e.keepFence(), e.intent}
	return e.script(e.scripts.entry.acquire, "acquire", readClaim(len(e.names)), args...).UndoneBy(e.scripts.entry.release)
}

func (e entry) Raise(fence int64) *node.Op {
	return e.script(e.scripts.entry.raise, "raise", readRaise(fence), fence, e.keepFence())
}

func (e entry) Extend(fence int64) *node.Op {
	return e.script(e.scripts.entry.extend, "extend", nil,
		e.ttl.Milliseconds(), fenceArg(fence), e.keepFence(), channel(e.names[0]))
}

func (e entry) Release(held bool) *node.Op {
	announce, intent := "", ""
	if held {
		announce, intent = channel(e.names[0]), e.intent
	}
	return e.script(e.scripts.entry.release, "release", nil, announce, intent)
}

func (e entry) script(s *node.Script, op string, read func(any) node.Vote, args ...any) *node.Op {
	name := e.names[0]
	return s.Op(op, read, []string{name, fenceKey(name), intentKey(name)}, append([]any{e.kind, e.token}, args...)...).About(name)
}
