package waitqueue

import (
	"fmt"
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
			w := &Waiter{queue: &queue{}, state: s}
			if slices.Contains(possible[s], next) {
				assert.NotPanics(t, func() { w.become(next) }, "%v after %v", next, s)
				assert.Equal(t, next, w.state)
			} else {
				assert.PanicsWithValue(t, fmt.Sprintf("waitqueue: %v follows %v", next, s), func() { w.become(next) })
			}
		}
	}
}

// Only a caller that asks or was given a lease can have a lock.
func TestALockOfACallerThatDidNotAsk(t *testing.T) {
	t.Parallel()
	q := &queue{all: New(Config{}), width: 1}
	assert.PanicsWithValue(t, "waitqueue: Granted or Inherited of a caller that is waiting", func() {
		q.acquired(&Waiter{queue: q, state: waiting}, &Hold{}, cohort{})
	})
}

// What must run without the mutex runs even if an event, or another effect of it, panics.
func TestAPanicSkipsNoEffect(t *testing.T) {
	t.Parallel()
	qs, n := New(Config{}), 0
	effect := func() {
		qs.handle(func() {}) // the mutex is not locked
		n++
	}
	assert.PanicsWithValue(t, "an effect", func() {
		qs.handle(func() {
			qs.after(effect)
			qs.after(func() { panic("an effect") })
			qs.after(effect)
		})
	})
	assert.Equal(t, 2, n)
	assert.PanicsWithValue(t, "an event", func() {
		qs.handle(func() {
			qs.after(effect)
			panic("an event")
		})
	})
	assert.Equal(t, 3, n)
}
