package redlock

import (
	"context"
	"maps"
	"slices"
	"time"

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
		seen, ok := sightingOf(an)
		if !ok {
			continue
		}
		for _, one := range seen.holds {
			lefts[one.token] = append(lefts[one.token], one.left)
			if kinds[one.token] == nil {
				kinds[one.token] = make(map[string]int)
			}
			kinds[one.token][seen.kind]++
		}
		if seen.kind == kindReentrant && len(seen.holds) > 0 {
			owners[ownerOf(seen.holds[0].token)]++ // they are all of one owner
		}
		if fences[seen.fence]++; fences[seen.fence] == need {
			h.Fence = uint64(seen.fence)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(lefts)) {
		if left := lefts[token]; len(left) >= need {
			h.Holders = append(h.Holders, Holder{Token: token, Votes: len(left), Left: sureUntil(left, need)})
			h.Kind = mostSaid(kinds[token])
		}
	}
	for owner, n := range owners {
		for token := range lefts {
			if n >= need && ownerOf(token) == owner {
				h.Kind = kindReentrant // its holds may each sit on a majority of their own
				h.Depth++
			}
		}
	}
	switch h.Kind {
	case "":
		h.Fence = 0
	case kindReentrant:
	default:
		h.Depth = 1
	}
}

// mostSaid returns the kind that most masters report. They may differ during a downgrade, when some masters have the
// token as a writer's and others as a reader's.
func mostSaid(kinds map[string]int) (most string) {
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if kinds[kind] >= kinds[most] {
			most = kind
		}
	}
	return most
}

func nodeHolding(an quorum.Answer) NodeHolding {
	row := NodeHolding{Node: an.Node}
	seen, ok := sightingOf(an)
	if !ok {
		row.Err = nodeError(an, "inspect")
		return row
	}
	longest := seen.longest()
	row.Kind, row.Token, row.Left, row.Fence = seen.kind, longest.token, longest.left, uint64(seen.fence)
	for _, one := range seen.holds {
		row.Holders = append(row.Holders, Holder{Token: one.token, Votes: 1, Left: one.left})
	}
	return row
}
