package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
)

// A leader that crashes, or is paused, is followed when its keys have expired: after at most the TTL and one attempt. A
// paused leader has lost its leadership by the time it runs again, before it has heard of that from any master.
func TestACrashHandsOverAfterTheTTL(t *testing.T) {
	t.Parallel()
	for _, led := range []time.Duration{0, 3 * time.Second, 5 * time.Second, time.Minute} {
		for _, crash := range []bool{true, false} {
			bubble(t, 5, func(t *testing.T, w world) {
				a, host := w.candidate(t, "a"), w.Host("a")
				old := campaign(t, a)
				next := campaigning(t, w.candidate(t, "b"))
				time.Sleep(led)
				ended := time.Now()
				if crash {
					host.Kill()
				} else {
					host.Freeze()
				}
				b := <-next
				took := b.at.Sub(ended)
				t.Logf("after %v as the leader: %v", led, took)
				assert.Less(t, took, ttl+100*time.Millisecond)
				assert.Greater(t, took, ttl/2, "the TTL since the last extension, every third of it")
				assert.Greater(t, b.Term(), old.Term())
				if !crash {
					host.Thaw()
					assert.ErrorIs(t, old.Err(), redlock.ErrLost)
					assert.ErrorIs(t, a.IsLeader(t.Context()), redlock.ErrLost)
				}
				assert.NoError(t, b.Resign(t.Context()))
			})
		}
	}
}

// A candidate that waits is woken by the release message: one round trip for the release, one to acquire.
func TestAResignationHandsOverInAFewRoundTrips(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w world) {
		a := campaign(t, w.candidate(t, "a"))
		// It asks again only when the TTL ends: an attempt that the resignation overtakes would take longer.
		next := campaigning(t, w.candidate(t, "b", redlock.WithRetry(time.Minute, time.Minute)))
		resigned := time.Now()
		require.NoError(t, a.Resign(t.Context()))
		b := <-next
		took := b.at.Sub(resigned)
		t.Logf("%v, with a round trip of %v", took, 2*delay)
		assert.LessOrEqual(t, took, 6*delay)
		require.ErrorIs(t, a.Err(), redlock.ErrReleased)
		assert.Greater(t, b.Term(), a.Term())
		assert.NoError(t, b.Resign(t.Context()))
	})
}

func TestALeadershipEndsWithItsMutex(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		e := w.candidate(t, "a")
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
		l, err := e.Campaign(ctx)
		require.NoError(t, err)
		cancel() // it bounded the wait
		require.NoError(t, l.Err())
		require.NoError(t, l.Context().Err())
		assert.Equal(t, "value", l.Context().Value(key{}))
		lock, ok := redlock.FromContext(l.Context())
		require.True(t, ok)
		assert.Equal(t, lock.Fence(), l.Term())
		assert.NotZero(t, l.Term(), "fencing is always on")

		for _, m := range w.Masters() {
			m.Set(name, "another client's", time.Hour)
		}
		select {
		case <-l.Context().Done():
		case <-time.After(ttl):
			require.Fail(t, "the loss was not noticed")
		}
		require.ErrorIs(t, context.Cause(l.Context()), redlock.ErrLost)
		require.ErrorIs(t, l.Err(), redlock.ErrLost)
		require.ErrorIs(t, l.Resign(t.Context()), redlock.ErrLost)
		require.ErrorIs(t, l.Resign(t.Context()), redlock.ErrReleased)
	})
}

func TestIsLeader(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		a, b := w.candidate(t, "a"), w.candidate(t, "b")
		require.ErrorIs(t, a.IsLeader(t.Context()), election.ErrNotLeader)
		l := campaign(t, a)
		require.NoError(t, a.IsLeader(t.Context()))
		require.ErrorIs(t, b.IsLeader(t.Context()), election.ErrNotLeader)
		require.NoError(t, l.Resign(t.Context()))
		err := a.IsLeader(t.Context())
		require.ErrorIs(t, err, election.ErrNotLeader)
		require.ErrorIs(t, err, redlock.ErrReleased)

		next := campaign(t, a)
		a.Record(l) // by the goroutine of an earlier Campaign: the largest term counts
		require.NoError(t, a.IsLeader(t.Context()))
		require.NoError(t, next.Resign(t.Context()))
		require.ErrorIs(t, a.IsLeader(t.Context()), redlock.ErrReleased)
	})
}

// A term is smaller than an earlier one if the masters lost their counters and the clock is behind the earlier one's.
func TestALeadershipCountsThoughAnEndedOneHadALargerTerm(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		a := w.candidate(t, "a")
		leads := campaign(t, a)
		ended, err := election.New(w.locker(t, "b"), "another").Campaign(t.Context())
		require.NoError(t, err)
		require.Greater(t, ended.Term(), leads.Term())
		require.NoError(t, ended.Resign(t.Context()))
		a.Record(ended)
		require.ErrorIs(t, a.IsLeader(t.Context()), election.ErrNotLeader)
		a.Record(leads)
		require.NoError(t, a.IsLeader(t.Context()))
		require.NoError(t, leads.Resign(t.Context()))
	})
}

func TestCampaignFailsAsLockDoes(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		campaign(t, w.candidate(t, "a"))
		b := w.locker(t, "b")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := election.New(b, name).Campaign(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, redlock.ErrHeld)
		_, err = election.New(b, "").Campaign(t.Context())
		require.ErrorContains(t, err, "name")
		_, err = election.New(b, name, redlock.WithTTL(time.Hour)).Campaign(t.Context())
		require.ErrorContains(t, err, "max TTL")
	})
}

// New copies the options: the caller may change the slice afterwards.
func TestNewCopiesTheOptions(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		invalid := redlock.WithTTL(-1)
		opts := append(make([]redlock.LockOption, 0, 2), redlock.WithTTL(ttl))
		e := election.New(w.locker(t, "a"), name, opts...)
		opts[0] = invalid
		_ = append(opts, invalid)
		l, err := e.Campaign(t.Context())
		require.NoError(t, err)
		assert.NotZero(t, l.Term())
		assert.NoError(t, l.Resign(t.Context()))
	})
}
