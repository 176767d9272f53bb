package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
)

func TestLeader(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w world) {
		observer := w.candidate(t, "observer")
		_, err := observer.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)

		l := campaign(t, w.candidate(t, "host-7:8080"))
		got, err := observer.Leader(t.Context())
		require.NoError(t, err)
		assert.Equal(t, "host-7:8080", got.Owner)
		assert.Equal(t, l.Term(), got.Term)
		assert.InDelta(t, ttl, got.TTL, float64(10*delay))

		for _, m := range w.Masters()[:3] {
			m.Freeze()
		}
		_, err = observer.Leader(t.Context())
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		for _, m := range w.Masters()[:3] {
			m.Thaw()
		}
		require.NoError(t, l.Resign(t.Context()))
		_, err = observer.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
	})
}

func TestAHolderWithoutATermIsNoLeader(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w world) {
		e, other := w.candidate(t, "a"), w.locker(t, "b")
		lock, err := other.Lock(t.Context(), name)
		require.NoError(t, err)
		_, err = e.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
		assert.ErrorContains(t, err, "no election acquired")
		require.NoError(t, lock.Unlock(t.Context()))

		lock, err = other.RW(name).Lock(t.Context(), redlock.WithFencing())
		require.NoError(t, err)
		_, err = e.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
		require.NoError(t, lock.Unlock(t.Context()))
	})
}

func TestALeaderThatResignedLeadsNoMoreDuringItsMinHold(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w world) {
		e := w.candidate(t, "a", redlock.WithMinHold(5*time.Second))
		require.NoError(t, campaign(t, e).Resign(t.Context()))
		_, err := e.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
		assert.ErrorContains(t, err, "minimum hold")
	})
}

// A master that granted a candidate which lost the vote has a larger count than the leader's term. When one of the
// other masters is down, no majority reports the term.
func TestTheTermIsKnownWhenTheMastersDisagree(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w world) {
		observer, a := w.candidate(t, "observer"), w.candidate(t, "a")
		m := w.Masters()[2]
		m.Set(name, "the loser's", time.Second)
		l := campaign(t, a)
		m.Set("redlock:fence:{"+name+"}", "9007199254740000", time.Hour)
		time.Sleep(ttl) // an extension has restored the leader's token on this master
		w.Masters()[0].Freeze()
		h, err := w.locker(t, "c").Inspect(t.Context(), name)
		require.NoError(t, err)
		require.Len(t, h.Holders, 1)
		require.Equal(t, 2, h.Holders[0].Votes)
		require.Zero(t, h.Fence, "no majority reports the same one")

		got, err := observer.Leader(t.Context())
		require.NoError(t, err)
		assert.Equal(t, l.Term(), got.Term)
		w.Masters()[0].Thaw()
		require.NoError(t, l.Resign(t.Context()))
	})
}

// While a candidate agrees with the masters on its term, they report smaller ones.
func TestATermThatIsNotAgreedIsReadTwice(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w world) {
		e := w.candidate(t, "observer")
		terms := []string{"5", "7", "6"}
		for i, m := range w.Masters() {
			m.Set(name, "a:1", time.Hour)
			m.Set("redlock:fence:{"+name+"}", terms[i], time.Hour)
		}
		time.AfterFunc(pace/2, func() {
			for _, m := range w.Masters() {
				m.Set("redlock:fence:{"+name+"}", "7", time.Hour)
			}
		})
		got, err := e.Leader(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 7, got.Term)
		assert.Equal(t, "a", got.Owner)
	})
}

func TestObserveYieldsEveryLeaderInOrder(t *testing.T) {
	t.Parallel()
	inWorld(t, 5, func(t *testing.T, w world) {
		ctx, cancel := context.WithCancel(t.Context())
		seen := make(chan election.Leader, 100)
		observer := w.candidate(t, "observer")
		go func() {
			defer close(seen)
			for leader := range observer.Observe(ctx) {
				seen <- leader
			}
		}()
		a, b := w.candidate(t, "a"), w.candidate(t, "b")
		var want []uint64
		for i := range 10 {
			l := campaign(t, []*election.Election{a, b}[i%2])
			want = append(want, l.Term())
			time.Sleep(pace + 10*delay)
			if i == 4 { // it goes on after an outage
				for _, m := range w.Masters() {
					m.Freeze()
				}
				time.Sleep(time.Second)
				for _, m := range w.Masters() {
					m.Thaw()
				}
			}
			require.NoError(t, l.Resign(t.Context()))
			time.Sleep(time.Second) // no process leads: nothing to yield
		}
		cancel()
		var got []uint64
		for leader := range seen {
			got = append(got, leader.Term)
			assert.Equal(t, []string{"a", "b"}[(len(got)-1)%2], leader.Owner)
		}
		assert.Equal(t, want, got)
	})
}

func TestObserveEnds(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w world) {
		l := w.locker(t, "a")
		for range election.New(l, "").Observe(t.Context()) {
			assert.Fail(t, "a name that is invalid has no leader")
		}
		campaign(t, w.candidate(t, "b"))
		for range election.New(l, name).Observe(t.Context()) {
			break
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			for range election.New(l, "no leader").Observe(t.Context()) {
			}
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, l.Close())
		<-over
	})
}
