package kind_test

import (
	"cmp"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// claim is a [kind.Claim] with the default scripts, written as one literal.
type claim struct {
	Kind    string
	Names   []string
	Token   string
	Slots   int // of a semaphore; 0: two
	Slot    int // of a semaphore; 0: the first
	Intent  string
	TTL     time.Duration
	Fencing bool
	Hint    int64
}

func (c claim) made() *kind.Claim {
	if c = c.whole(); c.Kind != kind.Semaphore.Name {
		c.Slots, c.Slot = 0, 0
	}
	return &kind.Claim{
		Target: kind.Target{Kind: kind.Named(c.Kind), Names: c.Names, Slots: c.Slots}, Token: c.Token, Slot: c.Slot,
		Intent: c.Intent, Scripts: kind.DefaultScripts,
	}
}

// whole returns the claim with the default slot.
func (c claim) whole() claim {
	c.Slots, c.Slot = cmp.Or(c.Slots, 2), cmp.Or(c.Slot, 1)
	return c
}

func (c claim) Ops() termedOps                    { return termedOps{c.made().Ops(), c.terms(), c.Hint} }
func (c claim) Probe(life time.Duration) *wire.Op { return c.made().Probe(life) }
func (c claim) Withdraw() *wire.Op                { return c.made().Withdraw(true) }
func (c claim) WithdrawSilently() *wire.Op        { return c.made().Withdraw(false) }

func (c claim) terms() *quorum.Terms { return &quorum.Terms{TTL: c.TTL, Fencing: c.Fencing} }

// termedOps are operations with the terms and the hint of their claim.
type termedOps struct {
	quorum.Ops
	terms *quorum.Terms
	hint  int64
}

func (o termedOps) Acquire() *wire.Op           { return o.Ops.Acquire(o.terms, time.UnixMicro(o.hint)) }
func (o termedOps) Raise(fence int64) *wire.Op  { return o.Ops.Raise(o.terms, fence) }
func (o termedOps) Extend(fence int64) *wire.Op { return o.Ops.Extend(o.terms, fence) }

// inspectOp reads who holds a name, and inspectAloneOp does so without the sibling keys.
func inspectOp(name string) *wire.Op      { return kind.DefaultScripts.Inspect(name, true) }
func inspectAloneOp(name string) *wire.Op { return kind.DefaultScripts.Inspect(name, false) }

// stateIn returns what the vote of inspect reports: the kind, the fence, and the TTL of each token.
func stateIn(v wire.Vote) (name string, fence int64, ttls map[string]time.Duration, ok bool) {
	s, ok := v.Data.(kind.NodeState)
	ttls = make(map[string]time.Duration)
	for _, h := range s.Holders {
		ttls[h.Token] = h.TTL
	}
	return s.Kind, s.Fence, ttls, ok
}

// allKinds are the names of all kinds.
func allKinds() (names []string) {
	for _, k := range kind.All {
		names = append(names, k.Name)
	}
	return names
}

const first, second = "x", "y" // the names

// pool returns groups of claims to choose from. The claims of a group interact: two share an owner, and a writer and a
// reader share a token.
func pool() [][]claim {
	one := func(k, owner, digit string) claim {
		return claim{Kind: k, Names: []string{first}, Token: tokenOf(owner, digit)}
	}
	of := func(c claim, names ...string) claim {
		c.Names = names
		return c
	}
	waiting := func(c claim, intent string) claim {
		c.Intent = intent
		return c
	}
	slot := func(n int, digit string) claim {
		return claim{Kind: "semaphore", Names: []string{first}, Token: tokenOf("s", digit), Slots: 3, Slot: n}
	}
	other := claim{Kind: "semaphore", Names: []string{first}, Token: tokenOf("s", "7"), Slots: 1, Slot: 1}
	long := tokenOf("one", "4")
	return [][]claim{
		{one("mutex", "m", "1")},
		{waiting(one("mutex", "m", "2"), "intent 3"), one("reader", "m", "2")},
		{of(one("mutex", "m", "3"), first, second), of(one("mutex", "m", "4"), second)},
		{
			waiting(of(one("mutex", "m", "5"), first, second), "intent 4"), one("reader", "m", "5"),
			of(one("reader", "m", "6"), second), of(waiting(one("writer", "m", "7"), "intent 5"), second),
		},
		{one("reader", "r", "1")},
		{one("reader", "r", "2"), one("reader", "r", "3")},
		{
			waiting(one("writer", "w", "1"), "intent 1"), one("reader", "w", "1"),
			waiting(one("writer", "w", "2"), "intent 2"), one("reader", "w", "2"),
		},
		{one("writer", "w", "3")},
		{one("reentrant", "one", "1")},
		{waiting(one("reentrant", "one", "2"), "intent 6"), one("reentrant", "one", "3"), one("reader", "one", "2")},
		{slot(1, "1"), slot(1, "2"), slot(2, "3")},
		{slot(2, "4"), slot(3, "5")},
		{slot(1, "6"), other},
		{one("reentrant", "one", "4"), one("reentrant", long, "1"), one("reentrant", long, "2")},
	}
}
