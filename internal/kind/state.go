package kind

import (
	"math"
	"slices"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// NodeState is what one master reports about one name. It is [wire.Vote.Data] of inspect.
type NodeState struct {
	Kind    string // or the type of a foreign key; "": the name is free
	Fence   int64  // 0: none was given out
	Slots   int    // of a semaphore; 0 for every other kind
	Holders []Holder
	Others  int // how many holders are not among Holders, which the script bounds
}

// Holder is one holder of a name on one master.
type Holder struct {
	Token string
	TTL   time.Duration // negative: the key has none
	Slot  int           // of a semaphore, from 1; 0 for every other kind
}

// StateOf returns what a master reported. It reports false if the answer does not count: the master failed, or is a
// server that has answered under another address.
func StateOf(an quorum.Answer) (_ NodeState, ok bool) {
	if !an.Vote.Verdict.Answered() {
		return NodeState{}, false
	}
	s, ok := an.Vote.Data.(NodeState)
	return s, ok
}

// Nested reports whether the name is held with a lock that its owner may hold several times.
func (s NodeState) Nested() bool { return Named(s.Kind).Nested() }

// holders returns how many holders the name has on the master.
func (s NodeState) holders() int { return len(s.Holders) + s.Others }

// Holder returns the holder with a token.
func (s NodeState) Holder(token string) (_ Holder, ok bool) {
	for _, h := range s.Holders {
		if h.Token == token {
			return h, true
		}
	}
	return Holder{}, false
}

// Longest returns the holder with the longest TTL.
func (s NodeState) Longest() (most Holder) {
	for _, h := range s.Holders {
		if h.TTL < 0 {
			return h
		}
		if h.TTL >= most.TTL {
			most = h
		}
	}
	return most
}

// longestToken is to how many bytes the script cuts a token; see common.lua.
const longestToken = 4200

// ReadState reads the reply of inspect. It grants a name that is free and denies one that is held.
func ReadState(reply any) wire.Vote {
	fields, ok := reply.([]any)
	switch {
	case !ok:
		return wire.BadReply(reply)
	case len(fields) == 0:
		return wire.Vote{Verdict: wire.Granted, Data: NodeState{}}
	case len(fields) < 5 || len(fields)%2 == 0:
		return malformed(reply, "inspect")
	}
	var s NodeState
	if s.Kind, ok = readKind(fields[0]); !ok {
		return malformed(reply, "inspect")
	}
	others, ok := fields[2].(int64)
	if s.Others = int(others); !ok || others < 0 || others > math.MaxInt32 {
		return malformed(reply, "inspect")
	}
	if s.Fence, ok = fields[1].(int64); !ok || !isFence(s.Fence) {
		return malformed(reply, "inspect")
	}
	tokens := make(map[string]struct{}, len(fields)/2)
	for pair := range slices.Chunk(fields[3:], 2) {
		token, isToken := pair[0].(string)
		ttl, isTTL := readTTL(pair[1])
		_, twice := tokens[token]
		if !isToken || !isTTL || twice && token != "" && len(token) < longestToken {
			return malformed(reply, "inspect")
		}
		if twice { // entries of another program, or tokens that the script cut
			s.Others++
			continue
		}
		tokens[token] = struct{}{}
		h := Holder{Token: token, TTL: ttl}
		if Named(s.Kind).Slotted() {
			if s.Slots, h.Slot, h.Token, ok = readPermitToken(token); !ok {
				return malformed(reply, "inspect")
			}
		}
		s.Holders = append(s.Holders, h)
	}
	return wire.Vote{Verdict: wire.Denied, Data: s}
}
