package simulation

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// TestWhatShrinkTriesToLeaveOut checks the proposals of Shrink, since its result depends on what shows. They halve the
// storm and the faults, leave out each fault, client and name, one worker and two masters, and set the clocks right.
func TestWhatShrinkTriesToLeaveOut(t *testing.T) {
	t.Parallel()
	s := Schedule{
		Storm: 4 * time.Second, Names: []string{"a", "b"}, Kinds: []string{kinds.Mutex, kinds.Reader}, Masters: 5,
		Rates: []float64{1, 1, 1.01, 1, 1},
		Clients: []Client{
			{Name: "x", Workers: 1, Rate: 1}, {Name: "y", Workers: 2, Rate: 1.01}, {Name: "z", Workers: 1, Rate: 1},
		},
		Plan: []faults.Step{
			{Fault: faults.KillMaster, On: faults.Masters, Targets: []int{2, 4}, At: 3 * time.Second, For: time.Second},
			{Fault: faults.KillClient, On: faults.Clients, Targets: []int{2}, At: time.Second, For: time.Second},
			{Fault: faults.FreezeClient, On: faults.Clients, Targets: []int{1}},
			{Fault: SlowPath, On: faults.Masters, Targets: []int{0}, Paths: []int{1}},
			{Fault: LossyPath, On: faults.Masters, Targets: []int{0}, Paths: []int{2}},
			{Fault: faults.FlushAll, On: faults.Masters, Targets: []int{4}, At: time.Second},
		},
	}
	same := func(p Schedule) bool { return p.Storm == s.Storm && len(p.Clients) == 3 && p.Masters == 5 }
	for what, is := range map[string]func(p Schedule) bool{
		"a shorter storm, without the faults behind it": func(p Schedule) bool {
			return p.Storm == s.Storm/2 && len(p.Plan) == 5
		},
		"without a client, and what injected it": func(p Schedule) bool {
			return len(p.Clients) == 2 && p.Clients[1].Name == "z" && len(p.Plan) == 4 &&
				p.Plan[1].Targets[0] == 1 && p.Plan[2].Paths[0] == 1
		},
		"one name":           func(p Schedule) bool { return len(p.Names) == 1 },
		"one kind":           func(p Schedule) bool { return len(p.Kinds) == 1 },
		"half of the faults": func(p Schedule) bool { return same(p) && len(p.Plan) == 3 },
		"without one fault":  func(p Schedule) bool { return same(p) && len(p.Plan) == 5 },
		"fewer workers":      func(p Schedule) bool { return same(p) && p.Clients[1].Workers == 1 },
		"three masters": func(p Schedule) bool {
			return p.Masters == 3 && len(p.Rates) == 3 && len(p.Plan) == 5 && slices.Equal(p.Plan[0].Targets, []int{2})
		},
		"clocks that are right": func(p Schedule) bool { return same(p) && p.Clients[1].Rate == 1 && p.Rates[2] == 1 },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			assert.True(t, slices.ContainsFunc(proposals(s), is))
		})
	}
}

func proposals(s Schedule) (all []Schedule) {
	for _, less := range simpler {
		for i := 0; ; i++ {
			p := s.clone()
			if !less(&p, i) {
				break
			}
			all = append(all, p)
		}
	}
	return all
}
