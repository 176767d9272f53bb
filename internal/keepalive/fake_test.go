package keepalive_test

import (
	"cmp"
	"sync/atomic"
	"testing"
	"time"

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
