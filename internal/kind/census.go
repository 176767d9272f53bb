package kind

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/redlock-go/redlock/quorum"
)

// Census groups by token what the masters report about one name.
type Census struct {
	states  []NodeState // by master; the zero NodeState: it reports no holder, or its answer does not count
	counted []bool      // by master: its answer counts
	tokens  map[string]*readings
	fences  map[int64]int // by the value of the fence counter: how many masters report it
}

// readings are what the masters report about one token.
type readings struct {
	ttls  []time.Duration
	kind  string // as the first master says
	slots int    // of the token's semaphore
	slot  int
}

// MajorityHolder is a holder whose token a majority of the masters has.
type MajorityHolder struct {
	Token string
	Kind  string
	Votes int           // on how many masters
	TTL   time.Duration // for which a majority holds it; negative: the keys have none
	Slots int           // the number of slots of its semaphore; 0 for every other kind
	Slot  int           // the slot that it takes
}

// NewCensus groups the answers to an inspection.
func NewCensus(answers []quorum.Answer) *Census {
	c := &Census{
		states: make([]NodeState, len(answers)), counted: make([]bool, len(answers)),
		tokens: make(map[string]*readings), fences: make(map[int64]int),
	}
	for i, an := range answers {
		if c.states[i], c.counted[i] = StateOf(an); !c.counted[i] {
			continue
		}
		c.fences[c.states[i].Fence]++
		for _, h := range c.states[i].Holders {
			r := c.tokens[h.Token]
			if r == nil {
				r = &readings{kind: c.states[i].Kind, slots: c.states[i].Slots, slot: h.Slot}
				c.tokens[h.Token] = r
			}
			r.ttls = append(r.ttls, h.TTL)
		}
	}
	return c
}

// MajorityHolders returns the tokens that at least need masters hold, sorted.
func (c *Census) MajorityHolders(need int) (all []MajorityHolder) {
	for _, token := range slices.Sorted(maps.Keys(c.tokens)) {
		if r := c.tokens[token]; len(r.ttls) >= need {
			ttl := majorityTTL(r.ttls, need)
			all = append(all, MajorityHolder{
				Token: token, Kind: r.kind, Votes: len(r.ttls), TTL: ttl, Slots: r.slots, Slot: r.slot,
			})
		}
	}
	return all
}

// Others returns how many holders at least need masters report besides those that are shown, with the kind, on which
// these masters agree, and the number of slots. It is 0 unless one of them left holders out of its report.
func (c *Census) Others(need, shown int) (kind string, slots, n int) {
	byKind := make(map[string][]NodeState)
	for _, s := range c.states {
		byKind[s.Kind] = append(byKind[s.Kind], s)
	}
	for k, states := range byKind {
		if k != "" && len(states) >= need && slices.ContainsFunc(states, func(s NodeState) bool { return s.Others > 0 }) {
			slices.SortFunc(states, func(a, b NodeState) int { return b.holders() - a.holders() })
			s := states[need-1]
			return k, s.Slots, max(0, s.holders()-shown)
		}
	}
	return "", 0, 0
}

// Fence returns the fence counter that at least need masters report; 0 if there is none.
func (c *Census) Fence(need int) int64 {
	for fence, n := range c.fences {
		if n >= need {
			return fence
		}
	}
	return 0
}

// NestedOwner returns the owner that at least need masters report as the holder of a nested lock, even if they report
// different holds of it. ok is false if there is none.
func (c *Census) NestedOwner(need int) (owner string, ok bool) {
	masters := make(map[string]int)
	for _, s := range c.states {
		if s.Nested() && len(s.Holders) > 0 {
			owner := OwnerOf(s.Holders[0].Token) // all holders on one master have one owner
			if masters[owner]++; masters[owner] >= need {
				return owner, true
			}
		}
	}
	return "", false
}

// Depth returns how many distinct holds of an owner's nested lock are on any master, or the largest number that a
// master counts. A hold that ended and only keeps the name for its minimum hold does not count, if the master lists it.
func (c *Census) Depth(owner string) (depth int) {
	holds := make(map[string]struct{})
	for _, s := range c.states {
		if !s.Nested() {
			continue
		}
		n := 0
		for _, h := range s.Holders {
			if OwnerOf(h.Token) == owner && !IsKept(h.Token) {
				holds[h.Token] = struct{}{}
				n++
			}
		}
		if n > 0 {
			depth = max(depth, n+s.Others)
		}
	}
	return max(depth, len(holds))
}

// majorityTTL returns the longest time for which at least need of the keys exist. It sorts ttls.
func majorityTTL(ttls []time.Duration, need int) time.Duration {
	slices.SortFunc(ttls, func(a, b time.Duration) int {
		if (a < 0) != (b < 0) { // a key without a TTL exists longest
			return cmp.Compare(a, b)
		}
		return cmp.Compare(b, a)
	})
	return ttls[need-1]
}
