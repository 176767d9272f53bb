package keepalive_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/keepalive"
)

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

func TestARenewalInProgressIsNotRepeated(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		l := added(t, s, nil)
		sleep(ttl)
		assert.Len(t, l.renewed, 1)
		assert.Len(t, l.expired, 1)
	})
}

func TestALockExpiresBeforeItsUntil(t *testing.T) {
	for name, fixed := range map[string]bool{"not renewable": true, "its renewals fail": false} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
				l := add(t, s, &fakeLock{fixed: fixed, result: func(*fakeLock) error { return errTest }})
				sleep(2 * ttl)
				assert.Equal(t, []time.Time{l.until.Add(-lead)}, l.expired)
				assert.Equal(t, fixed, len(l.renewed) == 0)
				s.Renewed(&l.entry, nil)
				sleep(ttl)
				assert.Len(t, l.expired, 1, "a renewal that ends later changes nothing")
			})
		})
	}
}

func TestALockThatReachesItsCapIsNotRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, s *keepalive.Schedule) {
		l := added(t, s, func(l *fakeLock) error {
			l.fixed = true
			return extends(l)
		})
		sleep(2 * ttl)
		assert.Len(t, l.renewed, 1)
		assert.Equal(t, []time.Time{l.until.Add(-lead)}, l.expired)
	})
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
