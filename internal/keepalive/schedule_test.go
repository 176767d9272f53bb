package keepalive_test

import (
	"cmp"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/keepalive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	ttl  = 3 * time.Second
	lead = time.Millisecond
)

// fakeLock is a Lock that records the calls of its Schedule. Only one goroutine runs at a time in the tests' bubbles.
type fakeLock struct {
	schedule *keepalive.Schedule
	entry    keepalive.Entry
	ttl      time.Duration
	until    time.Time
	now      func() time.Time      // nil: time.Now
	fixed    bool                  // no keepalive, or at its maximum hold
	result   func(*fakeLock) error // of an extension; nil: the extension does not end

	renewed []time.Time
	expired []time.Time
	cleared []time.Time
}

func (l *fakeLock) TTL() time.Duration { return l.ttl }
func (l *fakeLock) Renewable() bool    { return !l.fixed }
func (l *fakeLock) Until() time.Time   { return l.until }
func (l *fakeLock) FreezeIfDue(lead time.Duration) bool {
	now := time.Now
	if l.now != nil {
		now = l.now
	}
	return !now().Before(l.until.Add(-lead))
}
func (l *fakeLock) Expire() { l.expired = append(l.expired, time.Now()) }
func (l *fakeLock) Clear()  { l.cleared = append(l.cleared, time.Now()) }
func (l *fakeLock) Renew() {
	l.renewed = append(l.renewed, time.Now())
	if l.result != nil {
		l.schedule.Renewed(&l.entry, l.result(l))
	}
}

// extends is the result of an extension that succeeds.
func extends(l *fakeLock) error {
	l.until = time.Now().Add(l.ttl)
	return nil
}

// newSchedule returns a Schedule that the test closes.
func newSchedule(t testing.TB, c clock.Clock) *keepalive.Schedule {
	t.Helper()
	s := keepalive.New(c, lead)
	t.Cleanup(func() { s.Close() })
	return s
}

// added returns a lock that was just acquired, and added to s.
func added(t testing.TB, s *keepalive.Schedule, result func(*fakeLock) error) *fakeLock {
	t.Helper()
	return add(t, s, &fakeLock{result: result})
}

// add adds a lock to s. Its TTL is ttl, and begins now, unless it is set.
func add(t testing.TB, s *keepalive.Schedule, l *fakeLock) *fakeLock {
	t.Helper()
	l.schedule, l.ttl = s, cmp.Or(l.ttl, ttl)
	l.until = cmp.Or(l.until, time.Now().Add(l.ttl))
	require.True(t, s.Add(&l.entry, l), "the schedule is closed")
	return l
}

// suspender is a clock that reports suspensions.
type suspender struct {
	clock.Clock
	total atomic.Int64 // a time.Duration
}

func (s *suspender) Suspended() time.Duration { return time.Duration(s.total.Load()) }

var errTest = errors.New("of the test")

// inBubble runs a test in virtual time with an empty Schedule.
func inBubble(t *testing.T, test func(t *testing.T, s *keepalive.Schedule)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newSchedule(t, clock.System)) })
}

// sleep sleeps, and then waits until no other goroutine of the bubble runs.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// assertAbout asserts that two times differ by d, give or take the jitter of an extension.
func assertAbout(t *testing.T, from, to time.Time, d time.Duration) {
	t.Helper()
	assert.InDelta(t, d.Seconds(), to.Sub(from).Seconds(), 0.11*d.Seconds())
}

func TestALockIsRenewedEveryThirdOfItsTTL(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		last := time.Now()
		l := added(t, s, extends)
		sleep(10 * ttl)
		assert.InDelta(t, 30, len(l.renewed), 3)
		for _, at := range l.renewed {
			assertAbout(t, last, at, ttl/3)
			last = at
		}
		assert.Empty(t, l.expired)
		assert.Empty(t, l.cleared)
	})
}

func TestTheRenewalsOfLocksAreSpread(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		times := make(map[time.Time]bool)
		var locks []*fakeLock
		for range 1000 {
			locks = append(locks, added(t, s, extends))
		}
		sleep(ttl / 2)
		for _, l := range locks {
			require.Len(t, l.renewed, 1)
			times[l.renewed[0]] = true
		}
		assert.Greater(t, len(times), 10, "jitter")
		assert.LessOrEqual(t, len(times), 100, "locks that are due within a thousandth of the TTL are renewed together")
	})
}

func TestAFailedRenewalIsRepeatedSooner(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		last := time.Now()
		l := added(t, s, func(*fakeLock) error { return errTest })
		sleep(ttl / 2)
		require.GreaterOrEqual(t, len(l.renewed), 2)
		assertAbout(t, last, l.renewed[0], ttl/3)
		assertAbout(t, l.renewed[0], l.renewed[1], ttl/12)
	})
}

func TestALockExpiresBeforeItsUntil(t *testing.T) {
	fails := func(*fakeLock) error { return errTest }
	for name, tt := range map[string]struct {
		fixed       bool
		result      func(*fakeLock) error
		least, most int // of renewals
	}{
		"not renewable":            {true, fails, 0, 0},
		"its renewals fail":        {false, fails, 2, 30},
		"its renewal does not end": {false, nil, 1, 1},
		"it reaches its cap": {false, func(l *fakeLock) error {
			l.fixed = true
			return extends(l)
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
				l := add(t, s, &fakeLock{fixed: tt.fixed, result: tt.result})
				sleep(2 * ttl)
				assert.Equal(t, []time.Time{l.until.Add(-lead)}, l.expired)
				assert.GreaterOrEqual(t, len(l.renewed), tt.least)
				assert.LessOrEqual(t, len(l.renewed), tt.most)
				s.Renewed(&l.entry, nil)
				sleep(ttl)
				assert.Len(t, l.expired, 1, "a renewal that ends later changes nothing")
			})
		})
	}
}

func TestCloseReturnsAllLocks(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		held, lingering, removed := added(t, s, extends), added(t, s, nil), added(t, s, nil)
		s.Remove(&lingering.entry)
		require.True(t, s.Linger(&lingering.entry))
		s.Remove(&removed.entry)
		assert.ElementsMatch(t, []keepalive.Lock{held, lingering}, s.Close())
		assert.Empty(t, s.Close())

		assert.False(t, s.Add(&keepalive.Entry{}, held))
		assert.False(t, s.Linger(&removed.entry))
		s.Remove(&held.entry)
		s.Renewed(&held.entry, nil)
		sleep(2 * ttl)
		assert.Empty(t, held.renewed)
		assert.Empty(t, lingering.cleared)
	})
}

// The clock of the Schedule counts suspensions; see clock.CountSuspensions.
func TestWhatIsDueDuringASuspensionIsHandledWithinASecond(t *testing.T) {
	t.Parallel()
	const long = time.Hour
	for _, tt := range []struct {
		name                      string
		suspended                 time.Duration
		fixed                     bool
		renewed, expired, cleared int
	}{
		{"past the end of the locks", long, false, 0, 1, 1},
		{"past the end of a lock without keepalive", long, true, 0, 1, 1},
		{"past the time of a renewal", long / 2, false, 1, 0, 0},
		{"until a minute before it", long/3 - long/30 - time.Minute, false, 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				machine := &suspender{Clock: clock.System}
				c := clock.CountSuspensions(machine)
				s := newSchedule(t, c)
				held := add(t, s, &fakeLock{now: c.Now, ttl: long, until: c.Now().Add(long), fixed: tt.fixed})
				lost := add(t, s, &fakeLock{now: c.Now, ttl: long, until: c.Now().Add(long)})
				s.Remove(&lost.entry)
				require.True(t, s.Linger(&lost.entry))
				sleep(time.Second / 2)
				machine.total.Store(int64(tt.suspended))
				sleep(time.Second)
				assert.Len(t, held.renewed, tt.renewed)
				assert.Len(t, held.expired, tt.expired)
				assert.Len(t, lost.cleared, tt.cleared)
			})
		})
	}
}

// A lock that ends soon is added long after the start of the Schedule, and renewed in time. Another one is added after
// the alarm rang.
func TestTimesCountFromTheStartOfTheSchedule(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		sleep(time.Hour)
		began := time.Now()
		soon := add(t, s, &fakeLock{until: began.Add(ttl / 10), result: extends})
		sleep(ttl / 10)
		require.NotEmpty(t, soon.renewed)
		assertAbout(t, began, soon.renewed[0], ttl/20)
		s.Remove(&soon.entry)

		lost := added(t, s, nil)
		s.Remove(&lost.entry)
		sleep(ttl / 2) // nothing is due when the alarm rings
		require.True(t, s.Linger(&lost.entry))
		sleep(ttl)
		assert.Equal(t, []time.Time{lost.until}, lost.cleared)
	})
}

// The renewal of one lock is due before the end of another, and its own end after that.
func TestARenewalIsNotDelayedByAnotherLock(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		l := added(t, s, func(*fakeLock) error { return nil }) // Until does not move
		other := add(t, s, &fakeLock{until: time.Now().Add(ttl - ttl/12), fixed: true})
		sleep(ttl - ttl/20)
		require.GreaterOrEqual(t, len(l.renewed), 2)
		assert.Less(t, l.renewed[1].Sub(l.renewed[0]), ttl/2, "it did not wait for the end of the other")
		assert.Len(t, other.expired, 1)
	})
}

func TestARemovedLockIsNeitherRenewedNorExpiredNorCleared(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		scheduled, removed, never := added(t, s, extends), added(t, s, nil), &fakeLock{}
		for _, linger := range []bool{false, true} {
			if linger {
				require.True(t, s.Linger(&removed.entry))
			}
			s.Remove(&removed.entry)
			s.Remove(&removed.entry)
			s.Remove(&never.entry)
			s.Renewed(&removed.entry, nil)
		}
		sleep(2 * ttl)
		assert.Empty(t, removed.renewed)
		assert.Empty(t, removed.expired)
		assert.Empty(t, removed.cleared)
		assert.NotEmpty(t, scheduled.renewed)
	})
}

func TestALingeringLockIsClearedAtItsUntil(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		removed, scheduled, other := added(t, s, nil), added(t, s, nil), added(t, s, nil)
		s.Remove(&removed.entry)
		s.Remove(&other.entry)
		lost := []*fakeLock{removed, scheduled}
		for _, l := range lost {
			require.True(t, s.Linger(&l.entry))
			s.Renewed(&l.entry, nil)
		}
		sleep(time.Until(removed.until))
		for _, l := range append(lost, other) {
			assert.False(t, s.Linger(&l.entry), "its Until has passed")
		}
		sleep(2 * ttl)
		for _, l := range lost {
			assert.Equal(t, []time.Time{l.until}, l.cleared)
			assert.Empty(t, l.renewed)
			assert.Empty(t, l.expired)
		}
	})
}
