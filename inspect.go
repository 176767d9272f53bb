package redlock

import (
	"context"
	"errors"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/quorum"
)

// Inspect reports who holds name, with a lock of any kind, on each master and on a majority of them. It waits for all
// masters, for at most one node timeout. On [ErrNoQuorum] fewer than a majority answered; the Holding has the answers
// that arrived.
func (l *Locker) Inspect(ctx context.Context, name string) (Holding, error) {
	h := Holding{Name: name}
	answers, err := l.read(ctx, name)
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
	for _, s := range c.Standing(need) {
		h.Holders = append(h.Holders, Holder{Token: s.Token, Votes: s.Votes, Left: s.TTL})
		h.Kind, h.Depth = s.Kind, 1
	}
	if owner, ok := c.NestedOwner(need); ok { // perhaps no single hold of the owner has a majority
		h.Kind, h.Depth = kind.Reentrant.Name, c.Depth(owner)
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
	row.Kind, row.Token, row.Left, row.Fence = seen.Kind, longest.Token, longest.TTL, uint64(seen.Fence)
	for _, one := range seen.Holders {
		row.Holders = append(row.Holders, Holder{Token: one.Token, Votes: 1, Left: one.TTL})
	}
	return row
}

// read asks every master who holds a name.
func (l *Locker) read(ctx context.Context, name string) ([]quorum.Answer, error) {
	if err := mutexOf(name).Check(); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	op := l.cfg.scripts.Inspect(name, !l.noSiblingKeys(name))
	answers, err := l.quorum.Read(ctx, op, l.cfg.timeout(), false)
	if errors.Is(err, quorum.ErrClosing) {
		return nil, ErrClosed
	}
	return answers, err
}
