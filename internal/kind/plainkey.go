package kind

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// plainKey are the operations of a mutex: a string key for each name, the name byte for byte, whose value is the token.
// Every client that uses SET NX PX and compare-and-delete excludes a mutex and is excluded by it.
type plainKey struct{ *Claim }

func (plainKey) Overlaps() bool { return false }

func (p plainKey) Acquire(t *quorum.Terms, hint time.Time) *wire.Op {
	names := p.Target.Names
	if len(names) == 1 && !t.Fencing {
		return wire.Command("acquire", nil, "set", names[0], p.Token, "nx", "px", t.TTL.Milliseconds()).
			About(names[0]).From(p.Origin).UndoneBy(p.Scripts.mutex.release)
	}
	return p.acquireByScript(t, hint)
}

func (p plainKey) acquireByScript(t *quorum.Terms, hint time.Time) *wire.Op {
	names, script := p.Target.Names, p.Scripts.mutex.acquire
	if len(names) == 1 {
		script = p.Scripts.mutex.fenced
	}
	return script.Op("acquire", claimReader(len(names)), p.keys(t),
		p.Token, t.TTL.Milliseconds(), hintArg(t, hint), fenceTTL(t)).
		About(p.Target.Title()).From(p.Origin).UndoneBy(p.Scripts.mutex.release)
}

func (p plainKey) Raise(t *quorum.Terms, fence int64) *wire.Op {
	return p.Scripts.mutex.raise.Op("raise", raiseReader(fence), p.keys(t),
		p.Token, len(p.Target.Names), fence, fenceTTL(t)).About(p.Target.Title()).From(p.Origin)
}

func (p plainKey) Extend(t *quorum.Terms, fence int64) *wire.Op {
	names, extend := p.Target.Names, p.Scripts.mutex.extend
	if !t.Fencing {
		return extend.Op("extend", nil, names, p.Token, t.TTL.Milliseconds()).About(p.Target.Title()).From(p.Origin)
	}
	return extend.Op("extend", nil, p.keys(t), p.Token, t.TTL.Milliseconds(), fenceArg(fence), fenceTTL(t)).
		About(p.Target.Title()).From(p.Origin)
}

func (p plainKey) Release(announce bool) *wire.Op {
	names := p.Target.Names
	if len(names) == 1 && announce { // the most frequent case, without an allocation for each argument
		return p.Scripts.mutex.release.Op("release", nil, names, p.Token, Channel(names[0])).About(names[0]).From(p.Origin)
	}
	return p.releaseAll(announce)
}

func (p plainKey) releaseAll(announce bool) *wire.Op {
	names := p.Target.Names
	args := append(make([]any, 0, 1+len(names)), p.Token)
	if announce {
		for _, name := range names {
			args = append(args, Channel(name))
		}
	}
	return p.Scripts.mutex.release.Op("release", nil, names, args...).About(p.Target.Title()).From(p.Origin)
}

func (p plainKey) Keep(rest time.Duration) *wire.Op {
	args := []any{p.Token, rest.Milliseconds(), KeptToken(p.Token)}
	for _, name := range p.Target.Names {
		args = append(args, Channel(name))
	}
	return p.Scripts.mutex.keep.Op("release", nil, p.Target.Names, args...).About(p.Target.Title()).From(p.Origin)
}

func (p plainKey) probe(intentTTL time.Duration) *wire.Op {
	keys := p.Target.Names
	if p.Intent != "" {
		keys = slices.Concat(keys, p.intentKeys())
	}
	return p.Scripts.mutex.probe.Op("probe", claimReader(len(p.Target.Names)), keys, p.Intent, intentTTL.Milliseconds()).
		About(p.Target.Title()).From(p.Origin)
}

// keys returns the names and, with fencing, their fences.
func (p plainKey) keys(t *quorum.Terms) []string {
	if !t.Fencing {
		return p.Target.Names
	}
	keys := append(make([]string, 0, 2*len(p.Target.Names)), p.Target.Names...)
	for _, name := range p.Target.Names {
		keys = append(keys, FenceKey(name))
	}
	return keys
}
