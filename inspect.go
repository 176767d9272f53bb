package redlock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// sighting is what one master says of one name.
type sighting struct {
	kind  string // "": nobody holds it
	fence int64
	holds []hold
}

// hold is one holder of a name on one master.
type hold struct {
	token string
	left  time.Duration // negative: for ever
}

// sightingOf is what a master said, if its answer counts: a server under two names answers twice.
func sightingOf(an quorum.Answer) (_ sighting, ok bool) {
	if !an.Vote.Verdict.Answered() {
		return sighting{}, false
	}
	s, ok := an.Vote.Data.(sighting)
	return s, ok
}

// by is the hold of a token, if the master holds the name with it.
func (s sighting) by(token string) (_ hold, ok bool) {
	for _, h := range s.holds {
		if h.token == token {
			return h, true
		}
	}
	return hold{}, false
}

// longest is the hold that ends last.
func (s sighting) longest() (most hold) {
	for _, h := range s.holds {
		if h.left < 0 {
			return h
		}
		if h.left >= most.left {
			most = h
		}
	}
	return most
}

func (s *scripts) inspectOp(name string) *node.Op {
	return s.inspect.Op("inspect", readSighting, []string{name, fenceKey(name)})
}

// readSighting grants what is free and denies what is held.
func readSighting(reply any) node.Vote {
	fields, _ := reply.([]any)
	if len(fields) == 0 {
		return node.Vote{Verdict: node.Granted, Data: sighting{}}
	}
	if len(fields)%2 != 0 {
		return node.Vote{Err: fmt.Errorf("the reply %v is not what inspect returns", reply)}
	}
	s := sighting{}
	s.kind, _ = fields[0].(string)
	s.fence, _ = fields[1].(int64)
	for pair := range slices.Chunk(fields[2:], 2) {
		token, _ := pair[0].(string)
		ms, _ := pair[1].(int64)
		s.holds = append(s.holds, hold{token: token, left: time.Duration(ms) * time.Millisecond})
	}
	return node.Vote{Verdict: node.Denied, Data: s}
}

// Inspect says who holds a name, with a lock of whatever kind, master by master. It waits for all of them, at most a node
// timeout. [ErrNoQuorum]: fewer than a majority answered; the Holding says what the others did.
func (l *Locker) Inspect(ctx context.Context, name string) (Holding, error) {
	h := Holding{Name: name}
	answers, err := l.read(ctx, name)
	for _, an := range answers {
		h.Nodes = append(h.Nodes, nodeHolding(an))
	}
	if err != nil {
		return h, err
	}
	h.gather(answers, l.quorum.Majority())
	return h, nil
}

// gather makes the whole out of what the masters said.
func (h *Holding) gather(answers []quorum.Answer, need int) {
	lefts := make(map[string][]time.Duration) // of the holds, by token
	owners := make(map[string]int)            // of a reentrant lock: on how many masters
	fences := make(map[int64]int)
	for _, an := range answers {
		seen, ok := sightingOf(an)
		if !ok {
			continue
		}
		for _, one := range seen.holds {
			if lefts[one.token] = append(lefts[one.token], one.left); len(lefts[one.token]) == need {
				h.Kind = seen.kind
			}
		}
		if seen.kind == kindReentrant {
			owners[ownerOf(seen.holds[0].token)]++
		}
		if fences[seen.fence]++; fences[seen.fence] == need {
			h.Fence = uint64(seen.fence)
		}
	}
	for _, token := range slices.Sorted(maps.Keys(lefts)) {
		if left := lefts[token]; len(left) >= need {
			h.Holders = append(h.Holders, Holder{Token: token, Votes: len(left), Left: sureUntil(left, need)})
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

// ownerOf is whose a token is; "" if it is none of ours.
func ownerOf(token string) string { return token[:max(0, len(token)-tokenTail)] }

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

// read asks every master for a name.
func (l *Locker) read(ctx context.Context, name string) ([]quorum.Answer, error) {
	if err := mutexOf(name).check(); err != nil {
		return nil, err
	}
	if l.cluster != "" {
		if err := oneSlot(l.cluster, []string{name}); err != nil {
			return nil, err
		}
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	answers, err := l.quorum.Read(ctx, l.cfg.rules.scripts.inspectOp(name), l.cfg.timeout(), false)
	if err != nil {
		err = fmt.Errorf("inspect %q: %w", name, err)
	}
	return answers, err
}

// depth is how many live holds the owner of a reentrant lock has: those that a majority of the masters know of together.
// Three holds may each sit on a majority of their own.
func (l *Locker) depth(ctx context.Context, name, token string) (int, error) {
	answers, err := l.read(ctx, name)
	if err != nil {
		return 0, err
	}
	owner := token[:len(token)-tokenTail]
	live := make(map[string]bool)
	for _, an := range answers {
		if seen, ok := sightingOf(an); ok && seen.kind == kindReentrant {
			for _, one := range seen.holds {
				if strings.HasPrefix(one.token, owner) && len(one.token) == len(token) {
					live[one.token] = true
				}
			}
		}
	}
	return len(live), nil
}

// sureUntil is how long at least need of the keys live on.
func sureUntil(lefts []time.Duration, need int) time.Duration {
	slices.SortFunc(lefts, func(a, b time.Duration) int {
		switch {
		case a == b:
			return 0
		case a < 0 || (b >= 0 && a > b): // for ever is longest
			return -1
		default:
			return 1
		}
	})
	return lefts[need-1]
}
