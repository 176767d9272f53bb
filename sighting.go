package redlock

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// read asks every master who holds a name.
func (l *Locker) read(ctx context.Context, name string) ([]quorum.Answer, error) {
	if err := mutexOf(name).check(); err != nil {
		return nil, err
	}
	if err := l.begin(); err != nil {
		return nil, err
	}
	defer l.end()
	answers, err := l.quorum.Read(ctx, l.cfg.rules.scripts.inspectOp(name, l.standsAlone(name)), l.cfg.timeout(), false)
	if errors.Is(err, quorum.ErrEnding) {
		return nil, ErrClosed
	}
	return answers, err
}

// standsAlone reports whether a Cluster among the masters can keep no key beside the name: it has no fence, nor any holder but a
// mutex without one.
func (l *Locker) standsAlone(name string) bool {
	return l.cluster != "" && oneSlot(l.cluster, []string{name}) != nil
}

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

func (s *scripts) inspectOp(name string, alone bool) *node.Op {
	keys := []string{name, fenceKey(name)}
	if alone {
		keys = keys[:1]
	}
	return s.inspect.Op("inspect", readSighting, keys).About(name)
}

// readSighting grants what is free and denies what is held.
func readSighting(reply any) node.Vote {
	fields, ok := reply.([]any)
	switch {
	case ok && len(fields) == 0:
		return node.Vote{Verdict: node.Granted, Data: sighting{}}
	case len(fields) < 4 || len(fields)%2 != 0:
		return malformed(reply, "inspect")
	}
	s, ok := sighting{}, false
	if s.kind, ok = readKind(fields[0]); !ok {
		return malformed(reply, "inspect")
	}
	if s.fence, ok = fields[1].(int64); !ok || !isFence(s.fence) {
		return malformed(reply, "inspect")
	}
	tokens := make(map[string]struct{}, len(fields)/2-1)
	for pair := range slices.Chunk(fields[2:], 2) {
		token, isToken := pair[0].(string)
		left, isLeft := readLeft(pair[1])
		if tokens[token] = struct{}{}; !isToken || !isLeft || len(tokens) == len(s.holds) { // the same token twice
			return malformed(reply, "inspect")
		}
		s.holds = append(s.holds, hold{token: token, left: left})
	}
	return node.Vote{Verdict: node.Denied, Data: s}
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
