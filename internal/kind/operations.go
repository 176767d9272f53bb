package kind

import (
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// layout is a claim's operations on the keys of one layout.
type layout interface {
	quorum.Ops
	// probe returns the operation that [Claim.Probe] documents.
	probe(intentTTL time.Duration) *wire.Op
}

var (
	_ layout = plainKey{}
	_ layout = entries{}
	_ layout = permits{}
)

// Ops returns the claim's operations for the quorum.
func (c *Claim) Ops() quorum.Ops { return c.layout() }

// layout returns the claim's operations on the keys of its kind.
func (c *Claim) layout() layout {
	switch c.Target.Kind.Layout {
	case PlainKey:
		return plainKey{c}
	case Permits:
		return permits{c}
	default:
		return entries{c}
	}
}

// Probe returns the operation that reports which lock blocks the claim. If the claim has an intent, the operation also
// leaves the intent, with a TTL: at the names that [Kind.Intents] says.
func (c *Claim) Probe(intentTTL time.Duration) *wire.Op { return c.layout().probe(intentTTL) }

// Withdraw returns the operation that removes the claim's intent at every name. With publish, it also publishes a
// release, for the readers that the intent kept out.
func (c *Claim) Withdraw(publish bool) *wire.Op {
	args := append(make([]any, 0, 1+len(c.Target.Names)), c.Intent)
	if publish {
		for _, name := range c.Target.Names {
			args = append(args, Channel(name))
		}
	}
	return c.Scripts.withdraw.Op("withdraw", nil, c.intentKeys(), args...).About(c.Target.Title()).From(c.Origin)
}

// Inspect returns the operation that reports who holds a name, with a lock of any kind. Without siblings it reads only
// the key with the name itself.
func (s *Scripts) Inspect(name string, siblings bool) *wire.Op {
	keys := []string{name, FenceKey(name)}
	if !siblings {
		keys = keys[:1]
	}
	return s.inspect.Op("inspect", ReadState, keys).About(name)
}

// Release returns the operation that releases the lock on name that has a token, of any kind.
func (s *Scripts) Release(name, token string) *wire.Op {
	return s.release.Op("release", nil, []string{name}, token, Channel(name)).About(name)
}

// Announce returns the operation that publishes the release of a name.
func Announce(name string) *wire.Op {
	published := func(any) wire.Vote { return wire.Vote{Verdict: wire.Granted} } // also if nobody has subscribed
	return wire.Command("announce", published, "publish", Channel(name), "").About(name)
}
