package redlock

import (
	"context"
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// Holding is what the masters report about one name.
type Holding struct {
	// Name is the lock's name.
	Name string
	// Kind is the kind of lock, or the type of a key that is no lock of this package. It is "" if no holder has a
	// majority.
	Kind Kind
	// Slots is the number of slots of a semaphore, of which Slots - len(Holders) - Others are free; 0 for other kinds.
	Slots int
	// Depth is how many holds the owner of a reentrant lock has; 1 for every other kind, 0 if no holder has a majority.
	Depth int
	// Fence is the last fencing token of the name, if a majority of the masters report the same one; otherwise 0. It is
	// also 0 if no holder has a majority, although the masters keep the counter of a free name. Of a reentrant lock it is
	// the owner's token; 0 if the owner has none.
	Fence uint64
	// Holders are the holders that have a majority of the masters, sorted by token. Readers, permits of a semaphore and
	// the holds of a reentrant owner may be several. It is empty if no holder has a majority.
	Holders []Holder
	// Others is how many more holders a majority of the masters counts. A master lists at most 1,024 holders of a name,
	// those with the longest TTLs, and fewer if their tokens are long.
	Others int
	// Nodes has one row per master, in the order in which they were given.
	Nodes []NodeHolding
}

// Holder is one holder of a lock.
type Holder struct {
	// Token is the value that the masters store: owner:random for a lock of this package, any value for another
	// client's, of which it has the first 4,200 bytes.
	Token string
	// Slot is the slot of a semaphore that the holder has, from 1; 0 for every other kind.
	Slot int
	// Votes is how many masters store the token.
	Votes int
	// Left is how long a majority will keep the token unless it is extended. It is negative if the keys have no TTL:
	// another client may set such keys.
	Left time.Duration
}

// NodeHolding is what one master reports about one name.
type NodeHolding struct {
	// Node is the master's address.
	Node string
	// Kind is the kind of lock that holds the name on this master; "" if the name is free there, or if Err is set.
	Kind Kind
	// Token is the holder's token on this master; with several holders, that of the one with the longest TTL. It is ""
	// if the name is free there, or if Err is set.
	Token string
	// Left is the TTL of Token; negative if the key has none.
	Left time.Duration
	// Fence is the last fencing token that this master gave out for the name; 0 if it has no record of one. It is also
	// 0 if the name is free there, although the master keeps the counter.
	Fence uint64
	// Holders are the holders of the name on this master. Each has one vote. Others is how many more there are; see
	// [Holding].
	Holders []Holder
	Others  int
	// Err is a *NodeError if the master did not answer; otherwise nil.
	Err error
}

// Inspect reports who holds name, with a lock of any kind, on each master and on a majority of them. It waits for all
// masters: for a node timeout at most, and for a connection where it has none (see [WithNodeTimeout]). On [ErrNoQuorum]
// fewer than a majority answered; the Holding has the answers that arrived.
func (l *Locker) Inspect(ctx context.Context, name string) (Holding, error) {
	h := Holding{Name: name}
	answers, err := l.read(ctx, name, l.cfg.origin(ctx, 0, nil))
	for _, an := range answers {
		h.Nodes = append(h.Nodes, nodeHolding(an))
	}
	if err != nil {
		return h, during("inspect", []string{name}, err)
	}
	h.aggregate(kind.NewCensus(answers), l.quorum.Majority())
	return h, nil
}

// aggregate computes the fields about the majority.
func (h *Holding) aggregate(c *kind.Census, need int) {
	for _, s := range c.MajorityHolders(need) {
		h.Holders = append(h.Holders, Holder{Token: s.Token, Slot: s.Slot, Votes: s.Votes, Left: s.TTL})
		h.Kind, h.Slots, h.Depth = Kind(s.Kind), s.Slots, 1
	}
	if k, slots, n := c.Others(need, len(h.Holders)); n > 0 {
		h.Kind, h.Slots, h.Depth, h.Others = Kind(k), slots, 1, n
	}
	if owner, ok := c.NestedOwner(need); ok { // perhaps no single hold of the owner has a majority
		h.Kind, h.Depth = KindReentrant, max(1, c.Depth(owner)) // or only a minimum hold is left
	}
	if h.Kind != "" {
		h.Fence = uint64(c.Fence(need))
	}
}

func nodeHolding(an quorum.Answer) NodeHolding {
	row := NodeHolding{Node: an.Node}
	seen, ok := kind.StateOf(an)
	if !ok {
		row.Err = nodeError(an, "inspect")
		return row
	}
	longest := seen.Longest()
	row.Kind, row.Token, row.Left, row.Fence = Kind(seen.Kind), longest.Token, longest.TTL, uint64(seen.Fence)
	row.Others = seen.Others
	for _, one := range seen.Holders {
		row.Holders = append(row.Holders, Holder{Token: one.Token, Slot: one.Slot, Votes: 1, Left: one.TTL})
	}
	return row
}

// read asks every master who holds a name. origin marks the requests for the Vote hook, unless it is nil.
func (l *Locker) read(ctx context.Context, name string, origin *wire.Origin) ([]quorum.Answer, error) {
	if err := mutexOf(name).Check(); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	op := l.cfg.scripts.Inspect(name, !l.noSiblingKeys(name)).From(origin)
	answers, err := l.quorum.Read(ctx, op, l.cfg.terms.Timeout)
	if errors.Is(err, quorum.ErrClosing) {
		return nil, ErrClosed
	}
	return answers, err
}
