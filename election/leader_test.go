package election_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/internal/simnet"
)

func TestLeader(t *testing.T) {
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

		each(w.Masters()[:3], (*simnet.Master).Freeze)
		_, err = observer.Leader(t.Context())
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		each(w.Masters()[:3], (*simnet.Master).Thaw)
		require.NoError(t, l.Resign(t.Context()))
		_, err = observer.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
	})
}

func TestAHolderWithoutATermIsNoLeader(t *testing.T) {
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

// A master counts more readers than it lists. They lost the lock, another master has granted a candidate, and the third
// one does not answer.
func TestAMixtureOfMinoritiesIsNoLeader(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		readers := w.Masters()[0].Redis()
		for i := range 1025 {
			_, _ = readers.ZAdd(name, float64(time.Now().Add(ttl).UnixMilli()), fmt.Sprintf("redlock:reader:a:%032x", i))
		}
		w.Masters()[1].Set(name, fmt.Sprintf("b:%032x", 0), ttl)
		w.Masters()[2].Freeze()
		_, err := w.candidate(t, "c").Leader(t.Context())
		assert.ErrorIs(t, err, election.ErrNoLeader)
	})
}

func TestALeaderThatResignedLeadsNoMoreDuringItsMinHold(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		e := w.candidate(t, "a", redlock.WithMinHold(5*time.Second))
		require.NoError(t, campaign(t, e).Resign(t.Context()))
		_, err := e.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrNoLeader)
		assert.ErrorContains(t, err, "minimum hold")
	})
}

const fence = "redlock:fence:{" + name + "}"

// disagree returns a leader of which no majority reports the term: the last master has another count, and the first one
// is frozen. The last master keeps the count with which it granted the mutex if count is "".
func disagree(t *testing.T, w world, a *election.Election, count string) *election.Leadership {
	t.Helper()
	for _, m := range w.Masters()[:2] {
		m.Set(fence, "3000000000000000", time.Hour)
	}
	w.Masters()[2].Delay(5*delay, 0) // the others decide
	l := campaign(t, a)
	time.Sleep(pace)
	require.EqualValues(t, 3000000000000001, l.Term())
	if count != "" {
		w.Masters()[2].Set(fence, count, time.Hour)
	}
	w.Masters()[0].Freeze()
	return l
}

func TestLeaderReportsNoTermThatNoMajorityReports(t *testing.T) {
	t.Parallel()
	for why, count := range map[string]string{
		"it granted with less":                      "",
		"it lost the end of its file":               "2000000000000000",
		"it granted a candidate that lost the vote": "3000000000000007",
	} {
		t.Run(why, func(t *testing.T) {
			inWorld(t, 3, func(t *testing.T, w world) {
				observer := w.candidate(t, "observer")
				l := disagree(t, w, w.candidate(t, "a", redlock.WithoutKeepalive()), count)
				got, err := observer.Leader(t.Context())
				require.ErrorIs(t, err, election.ErrUnknownTerm)
				assert.ErrorContains(t, err, "report the terms [3000000000000001 "+count)
				assert.Len(t, redlock.NodeErrors(err), 1, "the frozen one")
				assert.Equal(t, "a", got.Owner, "who leads is known")
				assert.Positive(t, got.TTL)
				assert.Zero(t, got.Term)

				w.Masters()[0].Thaw()
				got, err = observer.Leader(t.Context())
				require.NoError(t, err)
				assert.Equal(t, l.Term(), got.Term, "two of three")
			})
		})
	}
}

// The leader's extension restores a counter that a master has lost.
func TestTheTermIsKnownAfterAnExtension(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		observer := w.candidate(t, "observer")
		l := disagree(t, w, w.candidate(t, "a"), "2000000000000000")
		_, err := observer.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrUnknownTerm)
		time.Sleep(ttl / 2)
		got, err := observer.Leader(t.Context())
		require.NoError(t, err)
		assert.Equal(t, l.Term(), got.Term)
		w.Masters()[0].Thaw()
	})
}

func TestObserveContinuesWhileTheTermIsUnknown(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		observer := w.candidate(t, "observer")
		l := disagree(t, w, w.candidate(t, "a"), "9007199254740000")
		thawed := false
		time.AfterFunc(time.Minute, func() {
			thawed = true
			w.Masters()[0].Thaw()
		})
		var seen []uint64
		for leader := range observer.Observe(t.Context()) {
			assert.True(t, thawed)
			seen = append(seen, leader.Term)
			break
		}
		assert.Equal(t, []uint64{l.Term()}, seen)
	})
}

// report makes the masters report a holder, "" for none, and each of them a term.
func (w world) report(token string, terms ...string) {
	for i, m := range w.Masters() {
		if token == "" {
			m.Del(name, "", "")
			continue
		}
		m.Set(name, token, time.Hour)
		m.Set(fence, terms[i%len(terms)], time.Hour)
	}
}

// While a candidate agrees with the masters on its term, they report smaller ones. So may the next candidate.
func TestATermThatIsNotAgreedIsReadTwice(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		e := w.candidate(t, "observer")
		w.report("a:1", "5", "7", "6")
		time.AfterFunc(pace/2, func() { w.report("b:1", "5", "7", "8") })
		time.AfterFunc(pace*3/2, func() { w.report("b:1", "8") })
		got, err := e.Leader(t.Context())
		require.NoError(t, err)
		assert.EqualValues(t, 8, got.Term)
		assert.Equal(t, "b", got.Owner)
	})
}

// The number that most of the leader's masters report is not the term without a majority of all masters.
func TestATermNeedsAMajorityOfAllMasters(t *testing.T) {
	inWorld(t, 5, func(t *testing.T, w world) {
		e := w.candidate(t, "observer")
		w.report("a:1", "5", "5", "7", "5", "5")
		for _, m := range w.Masters()[3:] {
			m.Set(name, "b:1", time.Hour)
		}
		got, err := e.Leader(t.Context())
		require.ErrorIs(t, err, election.ErrUnknownTerm)
		assert.ErrorContains(t, err, "[5 5 7]")
		assert.Empty(t, redlock.NodeErrors(err), "all of them answer")
		assert.Zero(t, got.Term)
		assert.Equal(t, "a", got.Owner)
	})
}

func TestObserveYieldsWhatChanges(t *testing.T) {
	t.Parallel()
	type report struct{ token, term string }
	outage := report{token: "outage"} // no majority answers
	for what, tt := range map[string]struct {
		reports []report
		want    []string
	}{
		"the same leader":                    {[]report{{"a:1", "5"}, {"a:1", "5"}}, []string{"a 5"}},
		"a larger term":                      {[]report{{"a:1", "5"}, {"b:1", "6"}}, []string{"a 5", "b 6"}},
		"a smaller term":                     {[]report{{"a:1", "5"}, {"b:1", "4"}}, []string{"a 5", "b 4"}},
		"a smaller term of the same process": {[]report{{"a:1", "5"}, {"a:2", "4"}}, []string{"a 5", "a 4"}},
		"an equal term":                      {[]report{{"a:1", "5"}, {"b:1", "5"}}, []string{"a 5", "b 5"}},
		"a late candidate in between": {
			[]report{{"a:1", "5"}, {"b:1", "6"}, {"a:1", "5"}}, []string{"a 5", "b 6", "a 5"},
		},
		"a term that was reported too small": {[]report{{"a:1", "4"}, {"a:1", "5"}}, []string{"a 4", "a 5"}},
		"counters that lost their end":       {[]report{{"a:1", "5"}, {"a:1", "4"}, {"a:1", "5"}}, []string{"a 5"}},
		"no leader in between":               {[]report{{"a:1", "5"}, {"", ""}, {"a:1", "5"}}, []string{"a 5"}},
		"an outage in between":               {[]report{{"a:1", "5"}, outage, {"b:1", "6"}}, []string{"a 5", "b 6"}},
	} {
		t.Run(what, func(t *testing.T) {
			inWorld(t, 3, func(t *testing.T, w world) {
				seen, stop := observe(t, w.candidate(t, "observer"))
				for _, r := range tt.reports {
					if r == outage {
						each(w.Masters(), (*simnet.Master).Freeze)
						time.Sleep(time.Second)
						each(w.Masters(), (*simnet.Master).Thaw)
						continue
					}
					w.report(r.token, r.term)
					time.Sleep(4 * pace)
				}
				stop()
				var got []string
				for leader := range seen {
					got = append(got, fmt.Sprint(leader.Owner, " ", leader.Term))
				}
				assert.Equal(t, tt.want, got)
			})
		})
	}
}

func TestObserveEnds(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		l := w.locker(t, "a")
		for range election.New(l, "").Observe(t.Context()) {
			assert.Fail(t, "a name that is invalid has no leader")
		}
		campaign(t, w.candidate(t, "b"))
		for range election.New(l, name).Observe(t.Context()) {
			break
		}
		seen, _ := observe(t, election.New(l, "no leader"))
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NoError(t, l.Close())
		assert.Empty(t, <-seen)
	})
}

// An observer that ends while it asks for all leaves the turn to the next one.
func TestAnObserverThatEndsDoesNotEndTheOthers(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		locker := w.locker(t, "b")
		_, stop := observe(t, election.New(locker, name))
		time.Sleep(delay / 2)
		seen, stopSecond := observe(t, election.New(locker, name))
		time.Sleep(delay / 2)
		stop()
		l := campaign(t, w.candidate(t, "a"))
		select {
		case got := <-seen:
			assert.Equal(t, l.Term(), got.Term)
		case <-time.After(2 * pace):
			require.Fail(t, "no observer asks")
		}
		stopSecond()
		<-seen
		require.NoError(t, l.Resign(t.Context()))
	})
}

// Those that still observe share one reading with those that come, although others have gone.
func TestObserversThatGoLeaveTheReadingToTheOthers(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w world) {
		locker := w.locker(t, "a")
		come := func() (goes func()) {
			seen, stop := observe(t, election.New(locker, name))
			time.Sleep(pace)
			assert.Equal(t, 1, election.SharedReadings(locker))
			return func() {
				stop()
				<-seen
			}
		}
		first, second := come(), come()
		second()
		assert.Equal(t, 1, election.SharedReadings(locker))
		third := come()
		first()
		assert.Equal(t, 1, election.SharedReadings(locker))
		third()
		assert.Zero(t, election.SharedReadings(locker))
	})
}
