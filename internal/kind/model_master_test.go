package kind_test

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
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
	ended   map[string]bool  // the tokens of holds that have ended, and that the master has not removed
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

func grants(n int64) answer { return answer{granted: true, number: n} }

func denies(by wantBlocker) answer { return answer{blocker: &by} }

// at returns the record of a name without ended holds and intents.
func (m *model) at(name string) *record {
	r := m.names[name]
	if r == nil {
		r = &record{
			holds: make(map[string]int64), ended: make(map[string]bool), slot: make(map[string]int),
			intents: make(map[string]int64),
		}
		m.names[name] = r
	}
	ended := func(_ string, ends int64) bool { return ends <= m.now }
	for token, ends := range r.holds {
		if ends <= m.now {
			r.ended[token] = true
		}
	}
	maps.DeleteFunc(r.holds, ended)
	maps.DeleteFunc(r.intents, ended)
	if len(r.holds) == 0 { // the key expires with its last entry
		r.kind, r.owned = "", 0
		clear(r.ended)
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

// hold adds a claim's hold to the record, and removes those that have ended.
func (m *model) hold(c claim, r *record) {
	clear(r.ended)
	r.kind = c.Kind
	r.holds[c.Token] = m.now + c.TTL.Milliseconds()
	r.slots, r.slot[c.Token] = c.whole().Slots, c.whole().Slot
}

// drop removes a claim's hold, also if it has ended.
func (r *record) drop(c claim) {
	if r.kind == c.Kind && r.hasSlots(c) {
		delete(r.holds, c.Token)
		delete(r.ended, c.Token)
	}
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
