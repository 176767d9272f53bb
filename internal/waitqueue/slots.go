package waitqueue

import (
	"math/rand/v2"
	"slices"
)

// slots chooses which slot of a semaphore a caller of this process asks for. Two callers of one queue never ask for the
// same slot. Of several candidates it takes a random unused one. Without candidates it takes the slot that this process
// released last; if there is none, the first unused one from home on. So two processes seldom ask for the same one.
type slots struct {
	total  int
	home   *int         // the slot where a search begins, modulo total; 0: at random. All semaphores share it
	used   map[int]bool // the slots that this process holds or asks for
	recent []int        // slots that this process released and does not use, the last one at the end
}

// choose chooses one of the candidates, or any slot if there are none. It returns 0 if this process uses all of them.
func (s *slots) choose(candidates []int) int {
	slot := s.find(candidates)
	if slot > 0 {
		s.used[slot] = true
		s.recent = slices.DeleteFunc(s.recent, func(one int) bool { return one == slot })
	}
	return slot
}

// find returns an unused slot, as choose does.
func (s *slots) find(candidates []int) int {
	if last := len(s.recent) - 1; last >= 0 && len(candidates) == 0 {
		return s.recent[last]
	}
	n, first, slotAt := s.total, *s.home-1, func(i int) int { return i + 1 }
	if len(candidates) > 0 {
		n, first, slotAt = len(candidates), -1, func(i int) int { return candidates[i] }
	}
	if first < 0 {
		first = rand.IntN(n)
	}
	for i := range n {
		if slot := slotAt((first + i) % n); !s.used[slot] {
			return slot
		}
	}
	return 0
}

// refuse records that a caller did not get a slot. It also resets home: another process may begin at the same slot.
func (s *slots) refuse(slot int) {
	s.giveBack(slot)
	*s.home = 0
}

// giveBack records that a caller does not use the slot that it had chosen.
func (s *slots) giveBack(slot int) { delete(s.used, slot) }

// release records that this process released a slot.
func (s *slots) release(slot int) {
	delete(s.used, slot)
	s.recent = append(s.recent, slot)
	if *s.home == 0 {
		*s.home = slot // this process got the slot, so other processes probably begin elsewhere
	}
}
