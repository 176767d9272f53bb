package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/faults"
)

// Shows runs a schedule the given number of times. It returns how often the checker found something, and the last such
// result.
func Shows(ctx context.Context, s Schedule, open Open, by string, runs int) (times int, last *Result) {
	for range runs {
		if ctx.Err() != nil {
			break
		}
		if r := InBubble(s, open); slices.Contains(r.By(), by) {
			times, last = times+1, r
		}
	}
	return times, last
}

// Shrink makes a schedule smaller for as long as the checker finds something in two of the given number of runs. One
// would be too few, since the smallest schedule would then hardly ever show it again. It leaves out half of the faults,
// a client, a name and so on, until nothing more can be left out or ctx ends.
//
// A micro-scenario is small and needs all that it has, so Shrink returns it unchanged.
func Shrink(ctx context.Context, s Schedule, open Open, by string, runs int) Schedule {
	if microScenarioOf(s) != nil {
		return s
	}
	for smaller := true; smaller && ctx.Err() == nil; {
		smaller = false
		for _, less := range simpler {
			for i := 0; ctx.Err() == nil; {
				t, ok := less(s.clone(), i)
				if !ok {
					break
				}
				if twice(ctx, t, open, by, runs) {
					s, smaller = t, true // the next proposal is now the i-th
				} else {
					i++
				}
			}
		}
	}
	return s
}

// twice reports whether the checker finds something in two of the given number of runs. As many runs as there are
// processors run at a time.
func twice(ctx context.Context, s Schedule, open Open, by string, runs int) bool {
	var found, left atomic.Int64
	left.Store(int64(runs))
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for found.Load() < 2 && left.Add(-1) >= 0 {
				n, _ := Shows(ctx, s, open, by, 1)
				found.Add(int64(n))
			}
		})
	}
	all.Wait()
	return found.Load() >= 2
}

// simpler are the ways to make a schedule smaller. Shrink asks each for its i-th proposal until there is none.
var simpler = []func(s Schedule, i int) (Schedule, bool){
	shorter, withoutClient,
	func(s Schedule, i int) (_ Schedule, ok bool) {
		if len(s.Names) > 1 && s.Move == 0 { // with Move, each period needs its name
			s.Names, ok = fewer(s.Names, i)
		}
		return s, ok
	},
	func(s Schedule, i int) (_ Schedule, ok bool) {
		if slices.Sort(s.Kinds); len(s.Kinds) > 1 {
			s.Kinds, ok = fewer(s.Kinds, i)
		}
		return s, ok
	},
	func(s Schedule, i int) (_ Schedule, ok bool) {
		if len(s.Groups) > 1 {
			s.Groups, ok = fewer(s.Groups, i)
		}
		return s, ok
	},
	func(s Schedule, i int) (_ Schedule, ok bool) {
		s.Faults, ok = fewer(s.Faults, i)
		return s, ok
	},
	func(s Schedule, i int) (_ Schedule, ok bool) {
		s.Plan, ok = fewer(s.Plan, i)
		return s, ok
	},
	fewerWorkers, fewerMasters, plainer,
}

// fewer returns a list with some elements left out: first one half, then the other, then each single element.
func fewer[T any](all []T, i int) ([]T, bool) {
	n := len(all)
	switch {
	case n > 0 && i == 0:
		return all[:n/2], true
	case n > 1 && i == 1:
		return all[n/2:], true
	case n > 2 && i < n+2:
		return slices.Delete(all, i-2, i-1), true
	}
	return all, false
}

func shorter(s Schedule, i int) (Schedule, bool) {
	factors := []float64{0.5, 0.75}
	if i >= len(factors) || s.Storm < 200*time.Millisecond {
		return s, false
	}
	s.Storm = time.Duration(float64(s.Storm) * factors[i])
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.At > s.Storm })
	s.Plan = slices.DeleteFunc(s.Plan, func(step faults.Step) bool { return step.At+step.For > s.Storm })
	return s, true
}

func withoutClient(s Schedule, i int) (Schedule, bool) {
	if len(s.Clients) < 2 || i >= len(s.Clients) {
		return s, false
	}
	s.Clients = slices.Delete(s.Clients, i, i+1)
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.Client == i })
	for n := range s.Faults {
		if s.Faults[n].Client > i {
			s.Faults[n].Client--
		}
	}
	s.Plan = aimed(s.Plan, faults.Clients, len(s.Clients))
	return s, true
}

func fewerWorkers(s Schedule, i int) (Schedule, bool) {
	for n := range s.Clients {
		if c := &s.Clients[n]; c.Workers > 1 {
			if i == 0 {
				c.Workers--
				return s, true
			}
			i--
		}
	}
	return s, false
}

func fewerMasters(s Schedule, i int) (Schedule, bool) {
	if i > 0 || s.Masters < 5 {
		return s, false
	}
	s.Masters, s.Rates = 3, s.Rates[:3]
	s.Faults = slices.DeleteFunc(s.Faults, func(f Fault) bool { return f.Master >= 3 })
	s.Plan = aimed(s.Plan, faults.Masters, 3)
	return s, true
}

// aimed returns the steps of a plan whose targets on a side are below n.
func aimed(plan []faults.Step, side faults.Side, n int) []faults.Step {
	return slices.DeleteFunc(plan, func(step faults.Step) bool {
		return step.On == side && slices.Max(step.Targets) >= n
	})
}

// plainer sets all clocks right, or turns fencing off.
func plainer(s Schedule, i int) (Schedule, bool) {
	right := true
	for n := range s.Rates {
		right, s.Rates[n] = right && s.Rates[n] == 1, 1
	}
	for n := range s.Clients {
		c := &s.Clients[n]
		right = right && c.Rate == 1 && c.Skew == 0
		c.Rate, c.Skew = 1, 0
	}
	if right {
		i++
	}
	if i == 0 {
		return s, true
	}
	had := s.Fencing
	s.Fencing = 0
	return s, i == 1 && had > 0
}

// clone returns a deep copy.
func (s Schedule) clone() Schedule {
	s.Names, s.Kinds, s.Rates = slices.Clone(s.Names), slices.Clone(s.Kinds), slices.Clone(s.Rates)
	s.Clients, s.Groups, s.Faults = slices.Clone(s.Clients), slices.Clone(s.Groups), slices.Clone(s.Faults)
	s.Plan = slices.Clone(s.Plan)
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
