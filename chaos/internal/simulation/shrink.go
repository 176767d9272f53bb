package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
)

const (
	// attempts is the number of schedules that Shrink plays at most. A limit in time would leave its result to chance.
	attempts = 100
	// others is the number of orders in which Shrink plays each proposal: what is left out changes the order of the
	// rest.
	others = 2
)

// Shrink makes a schedule smaller for as long as the checker finds something. It leaves out half of the faults, a
// client, a name and so on, until nothing more can be left out or ctx ends. It plays each proposal once in each of a
// few orders, of which order is the first. It returns the smallest schedule that shows a finding, the order in which it
// does, and its result, which is nil if nothing could be left out.
func Shrink(ctx context.Context, s Schedule, order uint64, play Play, by string) (Schedule, uint64, *Result) {
	var last *Result
	left := attempts
	shows := func(t Schedule) bool {
		for n := range uint64(others) {
			if left == 0 || ctx.Err() != nil {
				return false
			}
			left--
			if r := play(t, order+n); slices.Contains(r.By(), by) {
				order, last = order+n, r
				return true
			}
		}
		return false
	}
	for smaller := true; smaller; {
		smaller = false
		for _, less := range simpler {
			for i := 0; left > 0 && ctx.Err() == nil; {
				t := s.clone()
				if !less(&t, i) {
					break
				}
				if shows(t) {
					s, smaller = t, true // the next proposal is now the i-th
				} else {
					i++
				}
			}
		}
	}
	return s, order, last
}

// simpler are the ways to make a schedule smaller. Shrink asks each for its i-th proposal until there is none.
var simpler = []func(s *Schedule, i int) bool{
	shorter,
	withoutClient,
	func(s *Schedule, i int) bool { return s.Move == 0 && fewer(&s.Names, i, 1) }, // with Move, each period needs its name
	func(s *Schedule, i int) bool { slices.Sort(s.Kinds); return fewer(&s.Kinds, i, 1) },
	func(s *Schedule, i int) bool { return fewer(&s.Groups, i, 1) },
	func(s *Schedule, i int) bool { return fewer(&s.Plan, i, 0) },
	fewerWorkers,
	fewerMasters,
	clocksRight,
	func(s *Schedule, i int) bool { had := s.Fencing; s.Fencing = 0; return i == 0 && had > 0 },
}

// fewer leaves out some elements of a list that has more than least: first one half, then the other, then each single
// element.
func fewer[T any](all *[]T, i, least int) bool {
	n := len(*all)
	switch {
	case n <= least:
		return false
	case i == 0:
		*all = (*all)[:n/2]
	case n > 1 && i == 1:
		*all = (*all)[n/2:]
	case n > 2 && i < n+2:
		*all = slices.Delete(*all, i-2, i-1)
	default:
		return false
	}
	return true
}

func shorter(s *Schedule, i int) bool {
	factors := []float64{0.5, 0.75}
	if i >= len(factors) || s.Storm < 200*time.Millisecond {
		return false
	}
	s.Storm = time.Duration(float64(s.Storm) * factors[i])
	s.Plan = slices.DeleteFunc(s.Plan, func(step faults.Step) bool { return step.At > s.Storm })
	return true
}

func withoutClient(s *Schedule, i int) bool {
	if len(s.Clients) < 2 || i >= len(s.Clients) {
		return false
	}
	s.Clients = slices.Delete(s.Clients, i, i+1)
	who := func(step *faults.Step) *[]int {
		if step.On == faults.Clients {
			return &step.Targets
		}
		return &step.Paths
	}
	s.Plan = slices.DeleteFunc(s.Plan, func(step faults.Step) bool { return slices.Contains(*who(&step), i) })
	for n := range s.Plan {
		all := who(&s.Plan[n])
		*all = slices.Clone(*all)
		for c, client := range *all {
			if client > i {
				(*all)[c]--
			}
		}
	}
	return true
}

func fewerWorkers(s *Schedule, i int) bool {
	for n := range s.Clients {
		if c := &s.Clients[n]; c.Workers > 1 {
			if i == 0 {
				c.Workers--
				return true
			}
			i--
		}
	}
	return false
}

func fewerMasters(s *Schedule, i int) bool {
	const few = 3
	if i > 0 || s.Masters <= few {
		return false
	}
	s.Masters, s.Rates = few, s.Rates[:few]
	for n := range s.Plan {
		if step := &s.Plan[n]; step.On == faults.Masters {
			step.Targets = slices.DeleteFunc(slices.Clone(step.Targets), func(m int) bool { return m >= few })
		}
	}
	s.Plan = slices.DeleteFunc(s.Plan, func(step faults.Step) bool { return len(step.Targets) == 0 })
	return true
}

func clocksRight(s *Schedule, i int) bool {
	right := true
	for n := range s.Rates {
		right, s.Rates[n] = right && s.Rates[n] == 1, 1
	}
	for n := range s.Clients {
		c := &s.Clients[n]
		right = right && c.Rate == 1 && c.Skew == 0
		c.Rate, c.Skew = 1, 0
	}
	return i == 0 && !right
}

// clone returns a copy that can be changed, but for the lists in its groups and steps.
func (s Schedule) clone() Schedule {
	s.Names, s.Kinds, s.Rates = slices.Clone(s.Names), slices.Clone(s.Kinds), slices.Clone(s.Rates)
	s.Clients, s.Groups, s.Plan = slices.Clone(s.Clients), slices.Clone(s.Groups), slices.Clone(s.Plan)
	return s
}

// JSON returns the schedule in the form that Parse reads, for a test that pins it.
func (s Schedule) JSON() string {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("simulation: " + err.Error()) // every value has a JSON form
	}
	return string(text)
}

// Parse reads the output of JSON.
func Parse(text []byte) (s Schedule, err error) {
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("this is no schedule: %w", err)
	}
	return s, nil
}
