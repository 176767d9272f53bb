package kind_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
)

// model is a simple model of one master: the state of each name, and what each operation does to it. The scripts must
// agree with it for every sequence of operations. Times are milliseconds of the master's clock.
type model struct {
	now   int64
	names map[string]*record
}

// record is the state of one name.
type record struct {
	kind    string           // of the holds; "" if there are none
	holds   map[string]int64 // when the hold of each token ends
	slots   int              // of a semaphore
	slot    map[string]int   // of the permit of each token
	intents map[string]int64 // when the intent of each waiter ends
	last    int64            // the largest fencing token given out
	owned   int64            // the fencing token of the owner of a reentrant lock
	kept    int64            // until when the master remembers the fencing tokens
}

// answer is what an operation returns, and how many messages it publishes.
type answer struct {
	granted, owned, healed bool
	failed                 bool
	number                 int64
	blocker                *wantBlocker
	intent                 bool // it was left
	said                   int
}

func granted(n int64) answer { return answer{granted: true, number: n} }

func denied(by wantBlocker) answer { return answer{blocker: &by} }

// at returns the record of a name without ended holds and intents.
func (m *model) at(name string) *record {
	r := m.names[name]
	if r == nil {
		r = &record{holds: make(map[string]int64), slot: make(map[string]int), intents: make(map[string]int64)}
		m.names[name] = r
	}
	ended := func(_ string, ends int64) bool { return ends <= m.now }
	maps.DeleteFunc(r.holds, ended)
	maps.DeleteFunc(r.intents, ended)
	if len(r.holds) == 0 {
		r.kind, r.owned = "", 0
	}
	if r.kept <= m.now {
		r.last, r.owned = 0, 0
	}
	return r
}

// count gives out a fencing token on a name.
func (m *model) count(c claim, r *record, n int64) {
	r.last = max(r.last, n)
	m.keep(c, r)
}

func (m *model) keep(c claim, r *record) {
	r.kept = max(r.kept, m.now+(c.TTL+fenceLife).Milliseconds())
}

// hold adds a claim's hold to the record.
func (m *model) hold(c claim, r *record) {
	r.kind = c.Kind
	r.holds[c.Token] = m.now + c.TTL.Milliseconds()
	r.slots, r.slot[c.Token] = c.whole().Slots, c.whole().Slot
}

// has reports whether the record has the claim's own hold.
func (r *record) has(c claim) bool { return r.kind == c.Kind && r.holds[c.Token] > 0 && r.hasSlots(c) }

// hasSlots reports whether a claim of a semaphore has the number of slots that the record has.
func (r *record) hasSlots(c claim) bool { return c.Kind != "semaphore" || r.slots == c.whole().Slots }

// taken returns a digit for each slot of a claim, 1 if it is taken.
func (r *record) taken(c claim) string {
	digits := []byte(strings.Repeat("0", c.whole().Slots))
	for token := range r.holds {
		digits[r.slot[token]-1] = '1'
	}
	return string(digits)
}

// lastPermit returns the token of the permit that ends last; of equals, that of the greatest slot.
func (r *record) lastPermit() string {
	return slices.MaxFunc(slices.Collect(maps.Keys(r.holds)), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.holds[a], r.holds[b]), cmp.Compare(r.slot[a], r.slot[b]), cmp.Compare(a, b))
	})
}

// admits reports whether a claim's hold may be added to the existing ones.
func (r *record) admits(c claim) bool {
	switch {
	case r.kind == "":
		return true
	case r.kind != c.Kind:
		return false
	case c.Kind == "reader":
		return true
	case c.Kind == "semaphore":
		return r.slots == c.whole().Slots && r.taken(c)[c.whole().Slot-1] == '0'
	case c.Kind == "reentrant":
		_, token := longest(r.holds)
		return ownerOf(token) == ownerOf(c.Token) // all holds have one owner, or their names stay taken
	}
	return false
}

func ownerOf(token string) string {
	return strings.TrimPrefix(token[:strings.LastIndexByte(token, ':')], "min-hold:")
}

// blocks returns the blocker of a claim on the i-th of its names.
func (m *model) blocks(c claim, i int) (by wantBlocker, ok bool) {
	r := m.at(c.Names[i])
	if !r.admits(c) {
		left, token := m.longest(r.holds)
		if r.kind == "semaphore" {
			token = r.lastPermit()
		}
		if c.Kind == "semaphore" {
			return m.fullOr(c, r, left), true
		}
		by = wantBlocker{kind: r.kind, token: token, name: i, left: left}
		if r.kind == "semaphore" {
			by.slots = r.slots
		}
		return by, true
	}
	if c.Kind == "reader" && len(r.intents) > 0 {
		left, _ := m.longest(r.intents)
		return wantBlocker{kind: "writer", left: left}, true
	}
	return wantBlocker{}, false
}

// fullOr returns the blocker of a semaphore's claim: its permits, or another lock with the longest TTL left.
func (m *model) fullOr(c claim, r *record, left time.Duration) wantBlocker {
	by := wantBlocker{kind: r.kind, left: left}
	if r.kind == "semaphore" {
		by.slots = r.slots
	}
	if r.kind == "semaphore" && r.hasSlots(c) {
		ends := slices.Min(slices.Collect(maps.Values(r.holds)))
		by.left, by.taken = time.Duration(ends-m.now)*time.Millisecond, r.taken(c)
	}
	return by
}

// longest returns the token that ends last, and its time left. Of equals, Redis returns the greater token.
func (m *model) longest(ends map[string]int64) (left time.Duration, who string) {
	end, who := longest(ends)
	return time.Duration(end-m.now) * time.Millisecond, who
}

func longest(ends map[string]int64) (end int64, who string) {
	who = slices.MaxFunc(slices.Collect(maps.Keys(ends)), func(a, b string) int {
		return cmp.Or(cmp.Compare(ends[a], ends[b]), cmp.Compare(a, b))
	})
	return ends[who], who
}

func (m *model) acquire(c claim) answer {
	if c.Fencing && noToken(c.Hint) {
		return answer{failed: true}
	}
	token := int64(0)
	for i, name := range c.Names {
		if by, ok := m.blocks(c, i); ok {
			if by.token != "" { // only a probe returns it
				by.token, by.slots = "", 0
			}
			return denied(by)
		}
		token = max(token, m.at(name).last)
	}
	r := m.at(c.Names[0])
	a := granted(max(token+1, c.Hint))
	switch {
	case !c.Fencing:
		a.number = 1
	case c.Kind == "reentrant" && r.owned > 0:
		a.number, a.owned = r.owned, true
	case r.kind == "reader" && token > 0:
		a.number = token
	case c.Kind == "semaphore":
		for a.number%int64(c.whole().Slots) != int64(c.whole().Slot%c.whole().Slots) {
			a.number++
		}
	}
	if noToken(a.number) {
		return answer{failed: true} // the counter is used up
	}
	for _, name := range c.Names {
		r := m.at(name)
		m.hold(c, r)
		if c.Fencing {
			if c.Kind == "mutex" {
				r.owned, r.kept = 0, 0 // the hold that set a longer life has ended
			}
			m.count(c, r, a.number)
		}
		if c.Fencing && c.Kind == "reentrant" {
			r.owned = a.number
		}
	}
	if c.Kind != "mutex" {
		delete(r.intents, c.Intent)
	}
	return a
}

// noToken reports whether a number cannot be a fencing token.
func noToken(n int64) bool { return n < 0 || n >= tooLarge }

func (m *model) raise(c claim, fence int64) answer {
	if noToken(fence) {
		return answer{failed: true}
	}
	for _, name := range c.Names {
		if !m.at(name).has(c) {
			return answer{}
		}
	}
	if c.Kind == "semaphore" { // another slot may have a larger token
		m.lift(c, m.at(c.Names[0]), fence)
		return answer{granted: true, number: fence}
	}
	most := fence
	for _, name := range c.Names {
		m.lift(c, m.at(name), fence)
		most = max(most, m.at(name).last)
	}
	return answer{granted: most == fence, number: most}
}

// lift raises a fence. Unless it was larger already, it becomes the owner's.
func (m *model) lift(c claim, r *record, fence int64) {
	m.count(c, r, fence)
	if c.Kind == "reentrant" && r.last == fence {
		r.owned = fence
	}
}

func (m *model) extend(c claim, fence int64) answer {
	if noToken(fence) {
		return answer{failed: true}
	}
	a := granted(1)
	for _, name := range c.Names {
		switch r := m.at(name); {
		case r.has(c):
		case r.admits(c):
			a = answer{healed: true}
		default:
			return answer{}
		}
	}
	for _, name := range c.Names {
		r := m.at(name)
		m.hold(c, r)
		if fence > 0 {
			m.lift(c, r, fence)
		}
	}
	return a
}

func (m *model) release(c claim, held bool) answer {
	a := granted(1)
	for _, name := range c.Names {
		r := m.at(name)
		if !r.has(c) {
			a.granted, a.number = false, 0
			continue
		}
		delete(r.holds, c.Token)
		if held && (len(r.holds) == 0 || c.Kind == "semaphore") {
			a.said++
		}
	}
	if a.granted && a.said > 0 {
		a.number++ // the subject has one subscriber
	}
	return a
}

// stay releases a claim whose names stay taken for rest.
func (m *model) stay(c claim, rest time.Duration) answer {
	a := granted(1)
	kept := c
	kept.Token, kept.TTL = kind.KeptToken(c.Token), rest
	for _, name := range c.Names {
		r := m.at(name)
		held, stays := r.has(c), r.has(kept)
		switch {
		case held && !stays:
			delete(r.holds, c.Token)
			m.hold(kept, r)
		case stays:
			delete(r.holds, c.Token)
		default:
			a = answer{}
		}
	}
	return a
}

func (m *model) probe(c claim, life time.Duration) answer {
	a := granted(1)
	if r := m.at(c.Names[0]); c.Kind == "semaphore" {
		switch {
		case r.kind == "":
			a.blocker = &wantBlocker{kind: c.Kind, taken: r.taken(c)}
		case r.kind == c.Kind && r.hasSlots(c) && strings.Contains(r.taken(c), "0"):
			a.blocker = &wantBlocker{kind: c.Kind, taken: r.taken(c)}
		default:
			left, _ := m.longest(r.holds)
			a = denied(m.fullOr(c, r, left))
		}
		return a
	}
	intent := false
	for i, name := range c.Names {
		if r := m.at(name); c.Intent != "" && (c.Kind == "writer" || r.kind == "reader") {
			r.intents[c.Intent] = m.now + life.Milliseconds()
			intent = true
		}
		if by, ok := m.blocks(c, i); ok && (a.granted || by.left > a.blocker.left) {
			a = denied(by)
		}
	}
	a.intent = intent && !a.granted
	return a
}

func (m *model) withdraw(c claim, publish bool) answer {
	a := answer{}
	for _, name := range c.Names {
		r := m.at(name)
		if _, ok := r.intents[c.Intent]; !ok {
			continue
		}
		delete(r.intents, c.Intent)
		a.granted, a.number = true, 1
		if publish && len(r.intents) == 0 {
			a.said++
		}
	}
	return a
}

// inspect returns the expected result of an inspection of a name.
func (m *model) inspect(name string) wantState {
	r := m.at(name)
	if r.kind == "" {
		return wantState{}
	}
	s := wantState{kind: r.kind, fence: r.last, holds: make(entries)}
	if r.kind == "reentrant" {
		s.fence = r.owned
	}
	for token, ends := range r.holds {
		s.holds[token] = time.Duration(ends-m.now) * time.Millisecond
	}
	return s
}
