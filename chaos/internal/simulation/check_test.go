package simulation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/simulation"
)

func held(name, who string, from, to int) simulation.Hold {
	return simulation.Hold{
		Name: name, Who: who, Kind: kinds.Mutex, From: time.Duration(from) * time.Second, To: time.Duration(to) * time.Second, End: "unlocked",
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

// as changes the kind and the owner of a hold.
func as(kind string, owner string, h simulation.Hold) simulation.Hold {
	h.Kind, h.Owner = kind, owner
	return h
}

func TestExclusionOfKinds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second simulation.Hold
		excluded      bool
	}{
		"two readers":            {as(kinds.Reader, "", held("a", "x", 1, 3)), as(kinds.Reader, "", held("a", "y", 2, 4)), false},
		"reader under a writer":  {as(kinds.Writer, "", held("a", "x", 1, 3)), as(kinds.Reader, "", held("a", "y", 2, 4)), true},
		"writer under a reader":  {as(kinds.Reader, "", held("a", "x", 1, 3)), as(kinds.Writer, "", held("a", "y", 2, 4)), true},
		"two writers":            {as(kinds.Writer, "", held("a", "x", 1, 3)), as(kinds.Writer, "", held("a", "y", 2, 4)), true},
		"one owner":              {as(kinds.Reentrant, "o", held("a", "x", 1, 3)), as(kinds.Reentrant, "o", held("a", "y", 2, 4)), false},
		"two owners":             {as(kinds.Reentrant, "o", held("a", "x", 1, 3)), as(kinds.Reentrant, "p", held("a", "y", 2, 4)), true},
		"reader under an owner":  {as(kinds.Reentrant, "o", held("a", "x", 1, 3)), as(kinds.Reader, "", held("a", "y", 2, 4)), true},
		"mutex under a reader":   {as(kinds.Reader, "", held("a", "x", 1, 3)), held("a", "y", 2, 4), true},
		"one of several names":   {as(kinds.Several, "", held("a", "x", 1, 3)), held("a", "y", 2, 4), true},
		"several names, and all": {as(kinds.Several, "", held("a", "x", 1, 3)), as(kinds.Several, "", held("a", "y", 2, 4)), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.excluded, len(simulation.Exclusion([]simulation.Hold{c.first, c.second})) == 1)
		})
	}
}

func TestExclusionLooksAtEveryHoldThatLasts(t *testing.T) {
	t.Parallel()
	found := simulation.Exclusion([]simulation.Hold{
		as(kinds.Reader, "", held("a", "x", 1, 5)), as(kinds.Reader, "", held("a", "y", 2, 9)),
		as(kinds.Reader, "", held("a", "z", 3, 4)), as(kinds.Writer, "", held("a", "w", 6, 7)),
	})
	require.Len(t, found, 1)
	assert.Equal(t, [2]string{"y", "w"}, [2]string{found[0].First.Who, found[0].Second.Who})
}

func TestAViolationSaysWhoHeldWhen(t *testing.T) {
	t.Parallel()
	found := simulation.Exclusion([]simulation.Hold{held("a", "x", 1, 3), held("a", "y", 2, 4)})
	assert.Equal(t, "two holders of \"a\" for 1s, from 2.000000s to 3.000000s:\n"+
		"  x held \"a\" as mutex from 1.000000s to 3.000000s (unlocked)\n"+
		"  y held \"a\" as mutex from 2.000000s to 4.000000s (unlocked)", found[0].String())
}
