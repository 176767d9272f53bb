package waitqueue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

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
