package redlock

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

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
	h.gather(answers, l.quorum.Majority())
	return h, nil
}

// gather computes the fields about the majority from the masters' answers.
func (h *Holding) gather(answers []quorum.Answer, need int) {
	lefts := make(map[string][]time.Duration)                             // of the holds, by token
	owners := make(map[string]int)                                        // of a reentrant lock: on how many masters
	fences, kinds := make(map[int64]int), make(map[string]map[string]int) // of the holds, by token
	for _, an := range answers {
		seen, ok := kind.StateOf(an)
		if !ok {
			continue
		}
		for _, one := range seen.Holders {
			lefts[one.Token] = append(lefts[one.Token], one.TTL)
			if kinds[one.Token] == nil {
				kinds[one.Token] = make(map[string]int)
			}
			kinds[one.Token][seen.Kind]++
		}
		if seen.Nested() && len(seen.Holders) > 0 {
			owners[kind.OwnerOf(seen.Holders[0].Token)]++ // they are all of one owner
		}
		if fences[seen.Fence]++; fences[seen.Fence] == need {
			h.Fence = uint64(seen.Fence)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(lefts)) {
		if left := lefts[token]; len(left) >= need {
			h.Holders = append(h.Holders, Holder{Token: token, Votes: len(left), Left: kind.MajorityTTL(left, need)})
			h.Kind = mostSaid(kinds[token])
		}
	}
	for owner, n := range owners {
		for token := range lefts {
			if n >= need && kind.OwnerOf(token) == owner {
				h.Kind = kind.Reentrant.Name // its holds may each sit on a majority of their own
				h.Depth++
			}
		}
	}
	switch {
	case h.Kind == "":
		h.Fence = 0
	case !kind.Named(h.Kind).Nested():
		h.Depth = 1
	}
}

// mostSaid returns the kind that most masters report. They may differ during a downgrade, when some masters have the
// token as a writer's and others as a reader's.
func mostSaid(kinds map[string]int) (most string) {
	for _, k := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[k] >= kinds[most] {
			most = k
		}
	}
	return most
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
