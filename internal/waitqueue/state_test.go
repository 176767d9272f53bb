package waitqueue

import (
	"fmt"
	"slices"
	"testing"
	"time"

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

// mutex is the policy of a lock that may be passed on with its lease.
var mutex = Policy{Cohort: true, ReuseLease: true, TTL: 8 * time.Second}

var start = time.Now()

// aged returns a cohort of this age whose shortest round of requests took as long as round.
func aged(age, round time.Duration, passes int) cohort {
	return cohort{since: start.Add(-age).Sub(epoch), round: round, passes: passes}
}

// leased is a lock whose lease lasts that long.
type leased struct {
	policy   Policy
	validity time.Duration
}

func (l leased) Policy() Policy                   { return l.policy }
func (l leased) Validity(time.Time) time.Duration { return l.validity }
func (leased) Publish()                           {}
func (leased) Release()                           {}

func TestCohortBegins(t *testing.T) {
	t.Parallel()
	c := cohort{}.granted(start, start.Add(3*time.Millisecond))
	assert.Equal(t, cohort{since: start.Add(3 * time.Millisecond).Sub(epoch), round: 3 * time.Millisecond}, c)
	again := c.passed().granted(start.Add(10*time.Millisecond), start.Add(12*time.Millisecond))
	assert.Equal(t, cohort{since: c.since, round: 2 * time.Millisecond, passes: 1}, again, "the shortest round counts")
	again = again.passed().granted(start.Add(20*time.Millisecond), start.Add(90*time.Millisecond))
	assert.Equal(t, cohort{since: c.since, round: 2 * time.Millisecond, passes: 2}, again)
}

func TestBudget(t *testing.T) {
	t.Parallel()
	assert.Equal(t, 20*time.Millisecond, aged(0, time.Millisecond, 0).budget(8*time.Second))
	assert.Equal(t, 80*time.Millisecond, aged(0, 20*time.Millisecond, 0).budget(8*time.Second))
	assert.Equal(t, 10*time.Millisecond, aged(0, 20*time.Millisecond, 0).budget(80*time.Millisecond))
}

func TestRest(t *testing.T) {
	t.Parallel()
	assert.Equal(t, time.Millisecond, aged(0, 0, 0).cooldownFor(start, 1))
	assert.Equal(t, 8*time.Millisecond, aged(time.Millisecond, 4*time.Millisecond, 0).cooldownFor(start, 1))
	assert.Equal(t, 30*time.Millisecond, aged(30*time.Millisecond, 4*time.Millisecond, 0).cooldownFor(start, 1))
	assert.Equal(t, 60*time.Millisecond, aged(20*time.Millisecond, 4*time.Millisecond, 0).cooldownFor(start, 3))
	assert.Equal(t, 50*time.Millisecond, aged(time.Hour, 4*time.Millisecond, 0).cooldownFor(start, 1))
	assert.Equal(t, 150*time.Millisecond, aged(time.Hour, 4*time.Millisecond, 0).cooldownFor(start, 7))
}

func TestMayKeep(t *testing.T) {
	t.Parallel()
	other := mutex
	other.Cohort = false
	for name, tt := range map[string]struct {
		cohort       cohort
		lock, waiter Policy
		want         bool
	}{
		"within the budget":          {aged(19*time.Millisecond, 0, maxPasses-1), mutex, mutex, true},
		"the budget is used up":      {aged(20*time.Millisecond, 0, 0), mutex, mutex, false},
		"too many passes":            {aged(0, 0, maxPasses), mutex, mutex, false},
		"the lock does not allow it": {aged(0, 0, 0), other, mutex, false},
		"the waiter does not":        {aged(0, 0, 0), mutex, other, false},
	} {
		assert.Equal(t, tt.want, tt.cohort.mayKeep(leased{policy: tt.lock}, tt.waiter, start), name)
	}
}

func TestMayReuseLease(t *testing.T) {
	t.Parallel()
	with := func(change func(*Policy)) Policy {
		p := mutex
		change(&p)
		return p
	}
	young, most := aged(19*time.Millisecond, 0, 0), mutex.TTL*3/4+1
	for name, tt := range map[string]struct {
		cohort       cohort
		lock, waiter Policy
		lease        time.Duration
		want         bool
	}{
		"most of the lease is left":  {young, mutex, mutex, most, true},
		"a quarter is used up":       {young, mutex, mutex, mutex.TTL * 3 / 4, false},
		"the budget is used up":      {aged(20*time.Millisecond, 0, 0), mutex, mutex, most, false},
		"the lock does not allow it": {young, with(func(p *Policy) { p.ReuseLease = false }), mutex, most, false},
		"the waiter does not":        {young, mutex, with(func(p *Policy) { p.ReuseLease = false }), most, false},
		"no cohort":                  {young, with(func(p *Policy) { p.Cohort = false }), mutex, most, false},
		"the waiter's TTL differs":   {young, mutex, with(func(p *Policy) { p.TTL++ }), most, false},
	} {
		assert.Equal(t, tt.want, tt.cohort.mayReuseLease(leased{tt.lock, tt.lease}, tt.waiter, start), name)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		width, others int
		waits         bool
		share         int // no more is in the share
	}{
		{1, 0, true, Unbounded},
		{1, 0, false, Unbounded},
		{1, 1, true, 0},
		{1, 7, true, 0},
		{8, 0, true, Unbounded},
		{8, 1, true, 4},
		{8, 3, true, 2},
		{8, 4, true, 1},
		{8, 7, true, 1},
		{8, 8, true, 0},
		{3, 1, true, 1},
		{3, 1, false, 0},
		{8, 1, false, 0},
		{8, 0, false, Unbounded},
		{Unbounded, 0, false, Unbounded},
		{Unbounded, 9, true, Unbounded},
		{Unbounded, 9, false, Unbounded},
	} {
		q := &queue{width: tt.width, cooldown: cooldown{others: tt.others}}
		if tt.waits {
			q.subscription = silent{}
		}
		for _, holds := range []int{1, 2, 3, 4, 5, 8, 9, Unbounded} {
			assert.Equal(t, holds <= tt.share, q.inShare(holds), "%d holds, %+v", holds, tt)
		}
	}
}

func TestRounds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ width, others, rounds int }{
		{1, 0, 1}, {1, 1, 1}, {1, 7, 7}, {2, 1, 1}, {2, 2, 1}, {2, 3, 2}, {8, 3, 1}, {8, 8, 1}, {8, 9, 2}, {Unbounded, 9, 1},
	} {
		q := &queue{width: tt.width, cooldown: cooldown{others: tt.others}}
		q.beginCooldown(aged(10*time.Millisecond, 0, 0), start, start)
		assert.Equal(t, time.Duration(tt.rounds)*10*time.Millisecond, q.cooldown.until.Sub(start), "%+v", tt)
	}
}

// A count of subscribers begins a cooldown only if it shows other processes.
func TestACountWithoutOthersBeginsNoCooldown(t *testing.T) {
	t.Parallel()
	q := &queue{all: New(Config{}), width: 1, holds: 1}
	h := &Hold{queue: q}
	h.Published(0, start)
	assert.Equal(t, cooldown{}, q.cooldown)
	h.Published(1, start)
	assert.Equal(t, cooldown{others: 1, until: start.Add(minCooldown)}, q.cooldown)
	q.subscription = silent{} // which the masters do not count yet
	h.Published(0, start)
	assert.Zero(t, q.cooldown.others)
}
