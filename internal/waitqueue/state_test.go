package waitqueue

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Every pair of states is either in the table below, or panics.
func TestEveryPairOfStates(t *testing.T) {
	t.Parallel()
	possible := map[state][]state{
		outside:  {waiting, gone},
		waiting:  {yielding, asking, probing, given, gone},
		yielding: {asking, given, gone},
		asking:   {waiting, gone},
		probing:  {pausing, gone},
		pausing:  {asking, given, gone},
		given:    {gone},
	}
	for s := range states {
		for next := range states {
			if slices.Contains(possible[s], next) {
				assert.NotPanics(t, func() { s.mustPrecede(next) }, "%v after %v", next, s)
			} else {
				assert.Panics(t, func() { s.mustPrecede(next) }, "%v after %v", next, s)
			}
		}
	}
	w := &Waiter{queue: &queue{}, state: gone}
	assert.PanicsWithValue(t, "waitqueue: asking follows gone", func() { w.become(asking) })
}

// Only a caller that asks or was given a lease can have a lock.
func TestALockOfACallerThatDidNotAsk(t *testing.T) {
	t.Parallel()
	q := &queue{all: New(Config{}), width: 1}
	assert.PanicsWithValue(t, "waitqueue: a lock in state waiting", func() {
		q.granted(&Waiter{queue: q, state: waiting}, &Hold{}, cohort{})
	})
}
