package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/chaos/simulation"
)

func held(name, who string, from, to int) simulation.Hold {
	return simulation.Hold{
		Name: name, Who: who, Kind: simulation.Mutex, From: time.Duration(from) * time.Second, To: time.Duration(to) * time.Second, End: "unlocked",
	}
}

func TestExclusion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		holds []simulation.Hold
		pairs [][2]string
	}{
		"nobody":                {nil, nil},
		"one after the other":   {[]simulation.Hold{held("a", "x", 1, 2), held("a", "y", 2, 3), held("a", "x", 3, 4)}, nil},
		"different names":       {[]simulation.Hold{held("a", "x", 1, 5), held("b", "y", 2, 3)}, nil},
		"two at once":           {[]simulation.Hold{held("a", "x", 1, 3), held("a", "y", 2, 4)}, [][2]string{{"x", "y"}}},
		"recorded in any order": {[]simulation.Hold{held("a", "y", 2, 4), held("a", "x", 1, 3)}, [][2]string{{"x", "y"}}},
		"one within another":    {[]simulation.Hold{held("a", "x", 1, 9), held("a", "y", 2, 3)}, [][2]string{{"x", "y"}}},
		"the longest is remembered": {
			[]simulation.Hold{held("a", "x", 1, 9), held("a", "y", 2, 3), held("a", "z", 4, 5)}, [][2]string{{"x", "y"}, {"x", "z"}},
		},
		"at the same moment":          {[]simulation.Hold{held("a", "x", 1, 2), held("a", "y", 1, 2)}, [][2]string{{"x", "y"}}},
		"twice by the same":           {[]simulation.Hold{held("a", "x", 1, 3), held("a", "x", 2, 4)}, [][2]string{{"x", "x"}}},
		"learned of after its end":    {[]simulation.Hold{held("a", "x", 1, 9), held("a", "y", 5, 3)}, nil},
		"over in the moment it began": {[]simulation.Hold{held("a", "x", 1, 9), held("a", "y", 5, 5)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var pairs [][2]string
			for _, v := range simulation.Exclusion(c.holds) {
				pairs = append(pairs, [2]string{v.First.Who, v.Second.Who})
				assert.Positive(t, v.To-v.From)
			}
			assert.Equal(t, c.pairs, pairs)
		})
	}
}

func TestAViolationSaysWhoHeldWhen(t *testing.T) {
	t.Parallel()
	found := simulation.Exclusion([]simulation.Hold{held("a", "x", 1, 3), held("a", "y", 2, 4)})
	assert.Equal(t, "two holders of \"a\" for 1s, from 2.000000s to 3.000000s:\n"+
		"  x held \"a\" as mutex from 1.000000s to 3.000000s (unlocked)\n"+
		"  y held \"a\" as mutex from 2.000000s to 4.000000s (unlocked)", found[0].String())
}
