package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

// fenced sets a hold's fencing token and when it was asked for.
func fenced(fence uint64, asked float64, h simulation.Hold) simulation.Hold {
	h.Fence, h.Asked = fence, time.Duration(asked*float64(time.Second))
	return h
}

func TestOrder(t *testing.T) {
	t.Parallel()
	mutex := func(who string, from, to int) simulation.Hold { return held("a", who, from, to) }
	reader := func(who string, from, to int) simulation.Hold {
		return as(kinds.Reader, "", held("a", who, from, to))
	}
	owned := func(owner, who string, from, to int) simulation.Hold {
		return as(kinds.Reentrant, owner, held("a", who, from, to))
	}
	for name, c := range map[string]struct {
		first, second     simulation.Hold
		strictly, lasting bool // a violation without and with lasting
	}{
		"larger":                       {fenced(1, 0, mutex("x", 1, 2)), fenced(2, 1.5, mutex("y", 3, 4)), false, false},
		"the same":                     {fenced(2, 0, mutex("x", 1, 2)), fenced(2, 1.5, mutex("y", 3, 4)), true, true},
		"smaller":                      {fenced(2, 0, mutex("x", 1, 2)), fenced(1, 1.5, mutex("y", 3, 4)), true, true},
		"asked for meanwhile":          {fenced(2, 0, mutex("x", 1, 2)), fenced(1, 0.5, mutex("y", 3, 4)), false, true},
		"over before it began":         {fenced(2, 0, mutex("x", 1, 2)), fenced(1, 0.5, mutex("y", 3, 3)), false, false},
		"of another name":              {fenced(2, 0, mutex("x", 1, 2)), fenced(1, 1.5, held("b", "y", 3, 4)), false, false},
		"without one":                  {fenced(2, 0, mutex("x", 1, 2)), fenced(0, 1.5, mutex("y", 3, 4)), false, false},
		"reader's is the writer's":     {fenced(2, 0, mutex("x", 1, 2)), fenced(2, 1.5, reader("y", 3, 4)), false, false},
		"reader's is smaller":          {fenced(2, 0, mutex("x", 1, 2)), fenced(1, 1.5, reader("y", 3, 4)), true, true},
		"writer's is the reader's":     {fenced(2, 0, reader("x", 1, 2)), fenced(2, 1.5, mutex("y", 3, 4)), true, true},
		"reader after reader":          {fenced(2, 0, reader("x", 1, 2)), fenced(1, 1.5, reader("y", 3, 4)), false, true},
		"readers asking at once":       {fenced(2, 0, reader("x", 1, 2)), fenced(1, 0.5, reader("y", 3, 4)), false, false},
		"the owner's own":              {fenced(2, 0, owned("o", "x", 1, 2)), fenced(2, 1.5, owned("o", "y", 3, 4)), false, false},
		"smaller than the owner's own": {fenced(2, 0, owned("o", "x", 1, 2)), fenced(1, 1.5, owned("o", "y", 3, 4)), true, true},
		"another owner's":              {fenced(2, 0, owned("o", "x", 1, 2)), fenced(2, 1.5, owned("p", "y", 3, 4)), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holds := []simulation.Hold{c.second, c.first}
			assert.Equal(t, c.strictly, len(simulation.Order(holds, false)) == 1)
			assert.Equal(t, c.lasting, len(simulation.Order(holds, true)) == 1)
		})
	}
}

func TestOrderComparesWithTheLargestBefore(t *testing.T) {
	t.Parallel()
	found := simulation.Order([]simulation.Hold{
		fenced(1, 0, held("a", "x", 0, 1)), fenced(5, 1, held("a", "y", 1, 2)), fenced(3, 2, held("a", "z", 2, 3)),
		fenced(4, 3, held("a", "w", 3, 4)),
	}, false)
	var pairs [][2]string
	for _, v := range found {
		pairs = append(pairs, [2]string{v.First.Who, v.Second.Who})
	}
	assert.Equal(t, [][2]string{{"y", "z"}, {"y", "w"}}, pairs)
}

func TestSharing(t *testing.T) {
	t.Parallel()
	owned := func(owner, who string, from, to int) simulation.Hold {
		return as(kinds.Reentrant, owner, held("a", who, from, to))
	}
	never := func(simulation.Hold, simulation.Hold) bool { return false }
	always := func(simulation.Hold, simulation.Hold) bool { return true }
	for name, c := range map[string]struct {
		first, second simulation.Hold
		wrong         bool
	}{
		"the same":              {fenced(2, 0, owned("o", "x", 1, 5)), fenced(2, 2, owned("o", "y", 3, 4)), false},
		"a new one":             {fenced(2, 0, owned("o", "x", 1, 5)), fenced(3, 2, owned("o", "y", 3, 4)), true},
		"asked for at once":     {fenced(2, 0, owned("o", "x", 1, 5)), fenced(3, 0.5, owned("o", "y", 3, 4)), false},
		"one after the other":   {fenced(2, 0, owned("o", "x", 1, 3)), fenced(3, 2, owned("o", "y", 3, 4)), false},
		"of two owners":         {fenced(2, 0, owned("o", "x", 1, 5)), fenced(3, 2, owned("p", "y", 3, 4)), false},
		"only one has a token":  {fenced(0, 0, owned("o", "x", 1, 5)), fenced(3, 2, owned("o", "y", 3, 4)), false},
		"over before it began":  {fenced(2, 0, owned("o", "x", 1, 5)), fenced(3, 2, owned("o", "y", 3, 3)), false},
		"readers have no owner": {fenced(2, 0, as(kinds.Reader, "", held("a", "x", 1, 5))), fenced(3, 2, as(kinds.Reader, "", held("a", "y", 3, 4))), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holds := []simulation.Hold{c.first, c.second}
			assert.Equal(t, c.wrong, len(simulation.Sharing(holds, never)) == 1)
			assert.Empty(t, simulation.Sharing(holds, always))
		})
	}
}

func TestAlone(t *testing.T) {
	t.Parallel()
	hold := fenced(2, 2, as(kinds.Reentrant, "o", held("a", "x", 4, 9)))
	hold.Token = "o:1"
	attempt := func(name, owner, token string, from, to int) simulation.Attempt {
		return simulation.Attempt{
			Name: name, Owner: owner, Token: token, From: time.Duration(from) * time.Second, To: time.Duration(to) * time.Second,
		}
	}
	for name, c := range map[string]struct {
		other simulation.Attempt
		alone bool
	}{
		"its own":                    {attempt("a", "o", "o:1", 2, 4), true},
		"over before":                {attempt("a", "o", "o:2", 0, 1), true},
		"later":                      {attempt("a", "o", "o:2", 5, 6), true},
		"begun before":               {attempt("a", "o", "o:2", 1, 3), false},
		"begun meanwhile":            {attempt("a", "o", "o:2", 3, 6), false},
		"under way all the time":     {attempt("a", "o", "o:2", 1, 6), false},
		"over within":                {attempt("a", "o", "o:2", 3, 3), false},
		"of another owner meanwhile": {attempt("a", "p", "p:2", 3, 3), true},
		"on another name meanwhile":  {attempt("b", "o", "o:2", 3, 3), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.alone, simulation.Alone(hold, []simulation.Attempt{attempt("a", "o", "o:1", 2, 4), c.other}))
		})
	}
}

func TestIdle(t *testing.T) {
	t.Parallel()
	wait := func(from, to int, names ...string) simulation.Wait {
		return simulation.Wait{Who: "w", Names: names, From: time.Duration(from) * time.Second, To: time.Duration(to) * time.Second}
	}
	for name, c := range map[string]struct {
		wait  simulation.Wait
		holds []simulation.Hold
		from  int
		to    int // 0 if the wait is not too long
	}{
		"held all the time":             {wait(1, 9, "a"), []simulation.Hold{held("a", "x", 0, 5), held("a", "y", 6, 9)}, 0, 0},
		"free for a moment":             {wait(1, 9, "a"), []simulation.Hold{held("a", "x", 0, 5), held("a", "y", 7, 9)}, 0, 0},
		"free in between":               {wait(1, 9, "a"), []simulation.Hold{held("a", "x", 0, 3), held("a", "y", 7, 9)}, 3, 7},
		"free in the end":               {wait(1, 9, "a"), []simulation.Hold{held("a", "x", 0, 3)}, 3, 9},
		"never held":                    {wait(1, 9, "a"), nil, 1, 9},
		"held within a longer hold":     {wait(1, 9, "a"), []simulation.Hold{held("a", "x", 0, 8), held("a", "y", 2, 3)}, 0, 0},
		"another name does not count":   {wait(1, 9, "a"), []simulation.Hold{held("b", "x", 0, 9)}, 1, 9},
		"one of several names is taken": {wait(1, 9, "a", "b"), []simulation.Hold{held("b", "x", 0, 9)}, 0, 0},
		"before and after do not count": {wait(4, 6, "a"), []simulation.Hold{held("a", "x", 0, 1)}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, ok := simulation.Idle([]simulation.Wait{c.wait}, c.holds, 2*time.Second)
			assert.Equal(t, c.to != 0, ok)
			assert.Equal(t, time.Duration(c.from)*time.Second, found.From)
			assert.Equal(t, time.Duration(c.to)*time.Second, found.To)
		})
	}
}
