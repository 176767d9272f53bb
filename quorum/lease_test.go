package quorum_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// errOpen stands for a done that was not called yet.
var errOpen = fmt.Errorf("not told yet")

// told returns a done and what it was told: errOpen before. It must not be told twice.
func told(t testing.TB) (done func(error), said func() error) {
	t.Helper()
	err, calls := errOpen, 0
	return func(e error) {
		calls++
		err = e
		assert.Equal(t, 1, calls, "told twice")
	}, func() error { return err }
}

// unheard is a done of a release that does not look at how many heard of it.
func unheard(done func(error)) func(int64, error) {
	return func(_ int64, err error) { done(err) }
}

func TestAReleaseSaysHowManyHeardOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fakes := council(t, 3)
		lease := held(t, q, fakes)
		var heard int64
		lease.Release(false, func(n int64, err error) {
			heard = n
			assert.NoError(t, err)
		})
		fakes[0].vote(t, "release", &node.Vote{Verdict: node.Granted, Number: 1})
		fakes[1].vote(t, "release", &node.Vote{Verdict: node.Granted, Number: 4})
		assert.Equal(t, int64(3), heard, "one master may not have told them")
	})
}

func TestExtendNeedsAMajority(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		votes []*node.Vote
		want  error
	}{
		{"all", []*node.Vote{granted(), granted(), granted(), granted(), granted()}, nil},
		{"three of five", []*node.Vote{failed(), denied(), granted(), granted(), granted()}, nil},
		{"two of five", []*node.Vote{failed(), failed(), unknown(), granted(), granted()}, quorum.ErrNoQuorum},
		{"one denial does not end it", []*node.Vote{denied(), granted(), granted(), failed(), failed()}, quorum.ErrNoQuorum},
		{"nor do two", []*node.Vote{denied(), denied(), granted(), failed(), failed()}, quorum.ErrNoQuorum},
		{"one error does not end it", []*node.Vote{failed(), granted(), granted(), granted(), granted()}, nil},
		{"three say it is gone", []*node.Vote{denied(), denied(), denied(), granted(), granted()}, quorum.ErrGone},
		{"three healed it, which does not count yet", []*node.Vote{healed(), healed(), healed(), granted(), granted()}, quorum.ErrGone},
		{"two healed it, three kept it", []*node.Vote{healed(), healed(), granted(), granted(), granted()}, nil},
		{"healing is no vote", []*node.Vote{healed(), granted(), granted(), failed(), failed()}, quorum.ErrNoQuorum},
		{"nobody answers", []*node.Vote{unknown(), unknown(), unknown(), unknown(), unknown()}, quorum.ErrNoQuorum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, fakes := council(t, 5)
				lease := held(t, q, fakes)
				before := lease.Until()
				time.Sleep(3 * time.Second)
				asked := time.Now()
				done, said := told(t)
				lease.Extend(done)
				for i, f := range fakes {
					f.vote(t, "extend", tt.votes[i])
				}
				if tt.want == nil {
					require.NoError(t, said())
					assert.Equal(t, asked.Add(terms.TTL-terms.Drift), lease.Until())
					return
				}
				require.ErrorIs(t, said(), tt.want)
				assert.Equal(t, before, lease.Until(), "unchanged")
			})
		})
	}
}

func TestExtendTellsAtTheVoteThatDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fakes := council(t, 5)
		lease := held(t, q, fakes)
		done, said := told(t)
		lease.Extend(done)
		fakes[0].vote(t, "extend", denied())
		fakes[1].vote(t, "extend", failed())
		fakes[2].vote(t, "extend", granted())
		fakes[3].vote(t, "extend", granted())
		require.ErrorIs(t, said(), errOpen)
		fakes[4].vote(t, "extend", granted())
		require.NoError(t, said())
	})
}

func TestAnExtensionCountsFromItsAskingAndNeverShortens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fakes := council(t, 1)
		lease := held(t, q, fakes)
		time.Sleep(time.Second)
		first := time.Now()
		done1, said1 := told(t)
		lease.Extend(done1)
		time.Sleep(time.Second)
		second := time.Now()
		done2, said2 := told(t)
		lease.Extend(done2)
		time.Sleep(time.Second)
		calls := fakes[0].asked("extend")
		calls[1].Voter.Vote(0, *granted())
		require.NoError(t, said2())
		assert.Equal(t, second.Add(terms.TTL-terms.Drift), lease.Until())
		calls[0].Voter.Vote(0, *granted())
		require.NoError(t, said1())
		assert.Equal(t, second.Add(terms.TTL-terms.Drift), lease.Until(), "the one asked at %v came later and promises less", first)
	})
}

func TestAnExtensionThatComesAfterTheDeadlineDoesNotCount(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{-1, 0, time.Second} {
		t.Run(late.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, fakes := council(t, 3)
				lease := held(t, q, fakes)
				before := lease.Until()
				done, said := told(t)
				lease.Extend(done)
				fakes[0].vote(t, "extend", granted())
				time.Sleep(time.Until(before) + late)
				fakes[1].vote(t, "extend", granted())
				if late < 0 {
					require.NoError(t, said())
					return
				}
				require.ErrorIs(t, said(), quorum.ErrEnded)
				assert.Equal(t, before, lease.Until())
			})
		})
	}
}

func TestAReleasedLeaseIsNotExtended(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 3)
	lease := held(t, q, fakes)
	pending, saidPending := told(t)
	lease.Extend(pending)
	before := lease.Until()
	lease.Release(false, nil)
	for _, f := range fakes {
		assert.True(t, f.asked("extend")[0].Cancelled.Load(), "dropped where it was not written yet")
		f.vote(t, "extend", granted())
	}
	require.ErrorIs(t, saidPending(), quorum.ErrEnded)
	assert.Equal(t, before, lease.Until())

	done, said := told(t)
	lease.Extend(done)
	require.ErrorIs(t, said(), quorum.ErrEnded)
	assert.Len(t, fakes[0].asked("extend"), 1, "and nothing more is sent")
}

func TestMaxHoldCapsTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fakes := council(t, 1)
		fakes[0].answers(granted())
		capped := terms
		capped.MaxHold = 15 * time.Second
		asked := time.Now()
		lease, err := q.Acquire(t.Context(), ops{}, capped, quorum.NoFirst, q.NewPermanentFailures())
		require.NoError(t, err)
		assert.False(t, lease.Capped())
		assert.Equal(t, asked.Add(terms.TTL-terms.Drift), lease.Until())
		time.Sleep(8 * time.Second)
		lease.Extend(func(err error) { require.NoError(t, err) })
		assert.Equal(t, asked.Add(15*time.Second), lease.Until())
		assert.True(t, lease.Capped())

		capped.MaxHold = time.Second
		short, err := q.Acquire(t.Context(), ops{}, capped, quorum.NoFirst, q.NewPermanentFailures())
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Until(short.Until()))
		assert.True(t, short.Capped())
	})
}

func TestReleaseSaysWhatAMajoritySaid(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		votes []*node.Vote
		want  error
	}{
		{"all", []*node.Vote{granted(), granted(), granted(), granted(), granted()}, nil},
		{"three of five", []*node.Vote{failed(), unknown(), granted(), granted(), granted()}, nil},
		{"no longer there", []*node.Vote{denied(), denied(), denied(), granted(), granted()}, quorum.ErrGone},
		{"some gone, a majority answered", []*node.Vote{denied(), denied(), granted(), granted(), unknown()}, nil},
		{"too few answer", []*node.Vote{granted(), granted(), unknown(), unknown(), failed()}, quorum.ErrNoQuorum},
		{"nobody answers", []*node.Vote{unknown(), unknown(), unknown(), unknown(), unknown()}, quorum.ErrNoQuorum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q, fakes := council(t, 5)
			lease := held(t, q, fakes)
			done, said := told(t)
			lease.Release(false, unheard(done))
			for i, f := range fakes {
				f.vote(t, "release", tt.votes[i])
			}
			if tt.want == nil {
				require.NoError(t, said())
			} else {
				require.ErrorIs(t, said(), tt.want)
			}
		})
	}
}

func TestReleaseReturnsAtTheMajority(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 5)
	lease := held(t, q, fakes)
	done, said := told(t)
	lease.Release(false, unheard(done))
	fakes[0].vote(t, "release", granted())
	fakes[2].vote(t, "release", granted())
	require.ErrorIs(t, said(), errOpen)
	fakes[4].vote(t, "release", granted())
	require.NoError(t, said())

	again, saidAgain := told(t)
	lease.Release(false, unheard(again))
	require.ErrorIs(t, saidAgain(), quorum.ErrEnded)
	for _, f := range fakes {
		assert.Len(t, f.asked("release"), 1, "only the first call does anything")
	}
}

// TestWhatAnExtensionLearnsDecidesHowItsReleaseIsPursued: the release must outlive whatever of ours may still reach
// the node.
func TestWhatAnExtensionLearnsDecidesHowItsReleaseIsPursued(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		acquire        *node.Vote
		extend         *node.Vote // nil: not answered yet
		pursue, giveUp bool
	}{
		{"extended", granted(), granted(), true, true},
		{"healed", denied(), healed(), true, true},
		{"another's", granted(), denied(), false, false},
		{"never executed", granted(), failed(), true, true},
		{"never executed, and never was", unsent(), unsent(), false, false},
		{"perhaps executed", granted(), unknown(), true, false},
		{"perhaps executed, where there was nothing", denied(), unknown(), true, false},
		{"under way", granted(), nil, true, false},
		{"under way, where there was nothing", denied(), nil, true, false},
		{"under way, where nothing was ever sent", unsent(), nil, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q, fakes := council(t, 3)
			fakes[0].answers(tt.acquire)
			fakes[1].answers(granted())
			fakes[2].answers(granted())
			lease, err := q.Acquire(t.Context(), ops{}, terms, quorum.NoFirst, q.NewPermanentFailures())
			require.NoError(t, err)
			fakes[0].script = nil
			lease.Extend(func(err error) { require.NoError(t, err) })
			if tt.extend != nil {
				fakes[0].vote(t, "extend", tt.extend)
			}
			lease.Release(false, nil)
			releases := fakes[0].asked("release")
			if !tt.pursue {
				for _, r := range releases {
					assert.False(t, r.Delivery.Durable)
				}
				return
			}
			require.Len(t, releases, 1)
			assert.True(t, releases[0].Delivery.Durable)
			assert.Equal(t, tt.giveUp, !releases[0].Delivery.ExpiresAt.IsZero(), "may be given up")
		})
	}
}

func TestAnAdoptedLeaseIsReleasedWhereItMayBe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fakes := council(t, 3)
		until := time.Now().Add(time.Minute)
		lease := q.Import(ops{}, terms, []bool{true, true, false}, until, 0)
		assert.Equal(t, until, lease.Until())
		lease.Release(false, nil)
		for _, f := range fakes[:2] {
			require.Len(t, f.asked("release"), 1)
			assert.True(t, f.asked("release")[0].Delivery.Durable)
			assert.Zero(t, f.asked("release")[0].Delivery.ExpiresAt, "how long its keys live is not known")
		}
		require.Len(t, fakes[2].asked("release"), 1)
		assert.False(t, fakes[2].asked("release")[0].Delivery.Durable)
	})
}

// A node needs to know which of its connections may hold something of ours.
func TestAReleaseSaysSinceWhenThereIsSomethingToRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fakes := council(t, 3)
		asked := time.Now()
		lease := held(t, q, fakes)
		time.Sleep(time.Second)
		lease.Extend(func(error) {})
		time.Sleep(time.Second)
		lease.Release(false, nil)
		assert.Equal(t, asked, fakes[0].asked("release")[0].Delivery.FirstAsked)

		q.Import(ops{}, terms, []bool{true, true, true}, time.Now().Add(time.Minute), 0).Release(false, nil)
		assert.Zero(t, fakes[0].asked("release")[1].Delivery.FirstAsked, "nobody knows")
	})
}

func TestAnAdoptedLeaseIsCapped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, _ := council(t, 3)
		capped := terms
		capped.MaxHold = time.Second
		lease := q.Import(ops{}, capped, []bool{true, true, true}, time.Now().Add(5*time.Second), 0)
		assert.Equal(t, time.Second, time.Until(lease.Until()))
		assert.True(t, lease.Capped())
	})
}

// An adopted lease may have longer to live than an extension gives it. From the sending on its keys may have the
// shorter TTL, whether anybody hears of it or not, and then they are somebody else's before the old deadline.
func TestAnExtensionThatShortensIsBelievedFromItsSendingOn(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		vote *node.Vote
		want error
	}{
		{"granted", granted(), nil},
		{"unknown", unknown(), quorum.ErrNoQuorum},
		{"failed", failed(), quorum.ErrNoQuorum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, fakes := council(t, 3)
				lease := q.Import(ops{}, terms, []bool{true, true, true}, time.Now().Add(time.Minute), 0)
				time.Sleep(time.Second)
				ends := time.Now().Add(terms.TTL - terms.Drift)
				done, said := told(t)
				lease.Extend(done)
				for _, f := range fakes {
					require.Len(t, f.asked("extend"), 1)
				}
				require.ErrorIs(t, said(), errOpen)
				assert.Equal(t, ends, lease.Until(), "nobody has answered yet")
				time.Sleep(time.Second)
				for _, f := range fakes {
					f.vote(t, "extend", tt.vote)
				}
				require.ErrorIs(t, said(), tt.want)
				assert.Equal(t, ends, lease.Until())
			})
		})
	}
}

// kind is operations that say whose they are.
type kind struct {
	ops
	name string
}

func (k kind) Extend(int64) *node.Op { return node.Command("extend", nil).About(k.name) }

// An extension as the old kind that reached a node behind one as the new kind would turn the token back.
func TestALeaseTurnsIntoAnotherKindBetweenExtensions(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 3)
	lease := held(t, q, fakes)
	lease.ChangeKind(kind{name: "writer"})
	reached, goOn := make(chan struct{}), make(chan struct{})
	fakes[1].script = func(string) *node.Vote {
		close(reached)
		<-goOn
		return nil
	}
	extended, became := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(extended)
		lease.Extend(func(error) {})
	}()
	<-reached
	go func() {
		defer close(became)
		lease.ChangeKind(kind{name: "reader"})
	}()
	select {
	case <-became:
		t.Error("it changed while an extension was on its way to the nodes")
	case <-time.After(50 * time.Millisecond):
	}
	close(goOn)
	<-extended
	<-became
	fakes[1].script = nil
	lease.Extend(func(error) {})
	for _, f := range fakes {
		calls := f.asked("extend")
		require.Len(t, calls, 2)
		assert.Equal(t, "writer", calls[0].Op.Lock)
		assert.Equal(t, "reader", calls[1].Op.Lock)
	}
}

func TestReadWaitsForAllOrUntilItIsClear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		clear bool
		votes []*node.Vote
		after int // how many votes it takes
	}{
		{"all", false, []*node.Vote{granted(), granted(), granted(), granted(), granted()}, 5},
		{"a majority granted", true, []*node.Vote{granted(), denied(), granted(), granted(), granted()}, 4},
		{"a majority denied", true, []*node.Vote{denied(), denied(), granted(), denied(), granted()}, 4},
		{"never clear", true, []*node.Vote{denied(), failed(), granted(), denied(), granted()}, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, fakes := council(t, 5)
				var answers []quorum.Answer
				var err error
				done := make(chan struct{})
				go func() {
					defer close(done)
					answers, err = q.Read(t.Context(), node.Command("inspect", nil), terms.Timeout, tt.clear)
				}()
				synctest.Wait()
				for i, v := range tt.votes[:tt.after] {
					synctest.Wait()
					assert.Nil(t, answers, "after %d", i)
					fakes[i].vote(t, "inspect", v)
				}
				<-done
				require.NoError(t, err)
				require.Len(t, answers, 5)
				for i, an := range answers {
					assert.Equal(t, fakes[i].name, an.Node)
					assert.Equal(t, i < tt.after, an.Voted)
				}
			})
		})
	}
}

func TestReadWithoutAMajorityReturnsWhatCame(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 3)
	fakes[0].answers(failed())
	fakes[1].answers(granted())
	fakes[2].answers(unknown())
	answers, err := q.Read(t.Context(), node.Command("inspect", nil), terms.Timeout, false)
	require.ErrorIs(t, err, quorum.ErrNoQuorum)
	require.ErrorIs(t, err, errDown)
	require.Len(t, answers, 3)
	assert.Equal(t, node.Granted, answers[1].Vote.Verdict)
}
