package kind_test

import (
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
)

// What each operation does to a master, as the model says.

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
			return denies(by)
		}
		token = max(token, m.at(name).last)
	}
	r := m.at(c.Names[0])
	a := grants(max(token+1, c.Hint))
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
	a := grants(1)
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
	a := grants(1)
	for _, name := range c.Names {
		r := m.at(name)
		has := r.has(c)
		r.drop(c)
		if !has {
			a.granted, a.number = false, 0
			continue
		}
		if held && (len(r.holds) == 0 || c.Kind == "semaphore") {
			a.said++
		}
	}
	if a.granted && a.said > 0 {
		a.number++ // the subject has one subscriber
	}
	return a
}

// releaseToken releases the hold of a name that has a token, of any kind.
func (m *model) releaseToken(name, token string) answer {
	r := m.at(name)
	if r.holds[token] == 0 {
		return answer{}
	}
	delete(r.holds, token)
	if len(r.holds) > 0 && r.kind != "semaphore" {
		return grants(1)
	}
	return answer{granted: true, number: 2, said: 1} // the subject has one subscriber
}

// stay releases a claim whose names stay taken for rest.
func (m *model) stay(c claim, rest time.Duration) answer {
	a := grants(1)
	kept := c
	kept.Token, kept.TTL = kind.KeptToken(c.Token), rest
	for _, name := range c.Names {
		r := m.at(name)
		held, stays := r.has(c), r.has(kept)
		r.drop(c)
		switch {
		case held && !stays:
			m.hold(kept, r)
			a.said++
		case !stays:
			a.granted, a.number = false, 0
		}
	}
	if a.granted && a.said > 0 {
		a.number++
	}
	return a
}

func (m *model) probe(c claim, life time.Duration) answer {
	a := grants(1)
	if r := m.at(c.Names[0]); c.Kind == "semaphore" {
		switch {
		case r.kind == "":
			a.blocker = &wantBlocker{kind: c.Kind, taken: r.taken(c)}
		case r.kind == c.Kind && r.hasSlots(c) && strings.Contains(r.taken(c), "0"):
			a.blocker = &wantBlocker{kind: c.Kind, taken: r.taken(c)}
		default:
			left, _ := m.longest(r.holds)
			a = denies(m.fullOr(c, r, left))
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
			a = denies(by)
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
