package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// Slots checks that a semaphore never had more holders than slots, and no slot two holders. It sweeps over the beliefs
// of all holders of a name, which end and begin as for [Exclusion]. Holders that asked for different numbers of slots
// must not hold at the same time at all; of those, Slots counts all and applies the smallest number. Exclusion judges
// other locks on the name.
//
// Only the fencing token shows the slot of a permit: divided by the number of slots, it leaves the slot as the
// remainder. Slots of permits without a token are not compared.
func Slots(events []history.Event) Verdict {
	v := on(events, BySlots)
	all := slices.DeleteFunc(holds(events), func(h *hold) bool { return !kinds.Of(h.acquired.Mode).Slotted() })
	names := byName(all)
	full := 0
	for _, n := range names {
		most, slots := sweep(&v, n.name, beliefs(n.holds))
		if most >= slots {
			full++
		}
		shared(&v, n.name, beliefs(n.holds))
	}
	v.Looked = fmt.Sprintf("%d permits of %d semaphores; %d semaphores had all slots taken at some time",
		len(all), len(names), full)
	return v
}

// slot is one slot of a semaphore, with the number of its slots.
type slot struct{ number, of int }

// slotOf returns the slot that the fencing token shows, and whether there is a token.
func slotOf(h *hold) (s slot, shown bool) {
	s.of = h.acquired.Slots
	if h.acquired.Fence == 0 || s.of <= 0 {
		return s, false
	}
	s.number = int(h.acquired.Fence % uint64(s.of))
	if s.number == 0 { // the last slot
		s.number = s.of
	}
	return s, true
}

// shared finds the first time at which a slot has two holders. It compares each permit with the earlier one of its slot
// that is believed in longest.
func shared(v *Verdict, name string, all []Interval) {
	sortByBegin(all)
	longest := map[slot]Interval{}
	for _, b := range all {
		s, shown := slotOf(b.hold)
		if !shown {
			continue
		}
		last, had := longest[s]
		if had && b.Begin < last.End {
			v.find(name, []history.Event{*last.from, *last.to, *b.from, *b.to},
				"%q: %s with the token %d and %s with %d both had slot %d of %d for %v from %s on",
				name, who(last.hold.who), last.hold.acquired.Fence, who(b.hold.who), b.hold.acquired.Fence,
				s.number, s.of, min(b.End, last.End)-b.Begin, moment(b.Begin))
			return
		}
		if !had || b.End > last.End {
			longest[s] = b
		}
	}
}

// sweep finds the first time at which a semaphore has more holders than slots. It returns the largest number of holders
// and the smallest number of slots.
func sweep(v *Verdict, name string, all []Interval) (most, slots int) {
	sortByBegin(all)
	slots = fewest(all)
	found := false
	var in []Interval // those that have not ended when the next one begins
	for _, b := range all {
		in = slices.DeleteFunc(in, func(earlier Interval) bool { return earlier.End <= b.Begin })
		in = append(in, b)
		most = max(most, len(in))
		if allowed := fewest(in); len(in) > allowed && !found {
			found = true
			together := slices.MinFunc(in, func(a, b Interval) int { return cmp.Compare(a.End, b.End) }).End - b.Begin
			v.find(name, bounds(in), "%q had %d holders of %d slots from %s on, for %v: %s",
				name, len(in), allowed, moment(b.Begin), together, listed(in))
		}
	}
	return most, slots
}

// fewest returns the smallest number of slots that holders asked for; 0 if there are none.
func fewest(all []Interval) int {
	if len(all) == 0 {
		return 0
	}
	return slices.MinFunc(all, func(a, b Interval) int { return cmp.Compare(a.slots(), b.slots()) }).slots()
}

func (b Interval) slots() int { return b.hold.acquired.Slots }

// bounds returns the events that bound the beliefs, in the order of the history.
func bounds(all []Interval) []history.Event {
	var events []history.Event
	for _, b := range all {
		events = append(events, *b.from, *b.to)
	}
	history.Sort(events)
	return events
}

func listed(all []Interval) string {
	const most = 4
	var parts []string
	for _, b := range all[:min(most, len(all))] {
		parts = append(parts, fmt.Sprintf("%s for %v", who(b.hold.who), (b.End-b.Begin).Round(time.Millisecond)))
	}
	if more := len(all) - most; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}
