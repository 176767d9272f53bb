package quorum_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// A node that must connect first gets what the distance may need, but an acquire keeps half of the validity.
func TestHowLongANodeMayConnect(t *testing.T) {
	near, far := terms, terms
	far.Timeout = time.Second
	short := terms
	short.TTL, short.Timeout = time.Second, 100*time.Millisecond
	tooShort := short
	tooShort.TTL = short.Drift + short.Timeout/2
	type step = func(t *testing.T, q *quorum.Quorum, terms *quorum.Terms)
	acquire := func(t *testing.T, q *quorum.Quorum, terms *quorum.Terms) {
		_, _ = q.Acquire(t.Context(), ops{}, terms, quorum.NoFirst, new(quorum.PermanentFailures))
	}
	lease := func(t *testing.T, q *quorum.Quorum, terms *quorum.Terms) {
		lease := acquired(t, q, terms)
		lease.Extend(func(error) {})
		lease.Release(false, func(int64, error) {})
	}
	read := func(t *testing.T, q *quorum.Quorum, terms *quorum.Terms) {
		_, err := q.Read(t.Context(), wire.Command("inspect", nil), terms.Timeout)
		require.NoError(t, err)
	}
	probe := func(t *testing.T, q *quorum.Quorum, terms *quorum.Terms) {
		_, err := q.Probe(t.Context(), wire.Command("probe", nil), terms.Timeout, false, nil, nil)
		require.NoError(t, err)
	}
	for _, tt := range []struct {
		name  string
		terms quorum.Terms
		do    step
		want  map[string]time.Duration // by operation
	}{
		{"acquire", near, acquire, map[string]time.Duration{"acquire": 1100 * time.Millisecond}},
		{"acquire, far away", far, acquire, map[string]time.Duration{"acquire": 2600 * time.Millisecond}},
		{"acquire, short TTL", short, acquire, map[string]time.Duration{"acquire": 399 * time.Millisecond}},
		{"acquire, no validity", tooShort, acquire, map[string]time.Duration{"acquire": 0}},
		{"lease", near, lease, map[string]time.Duration{"extend": near.Timeout, "release": near.Timeout}},
		{"read", near, read, map[string]time.Duration{"inspect": 1100 * time.Millisecond}},
		{"read, far away", far, read, map[string]time.Duration{"inspect": 2600 * time.Millisecond}},
		{"probe", far, probe, map[string]time.Duration{"probe": 0}},
	} {
		subCouncil(t, tt.name, 3, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			answerAll(fakes, granted())
			tt.do(t, q, &tt.terms)
			for op, want := range tt.want {
				require.Len(t, fakes[0].asked(op), 1)
				assert.Equal(t, want, fakes[0].asked(op)[0].Connect)
			}
		})
	}
}

func TestReadWaitsForAllOrUntilItIsClear(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		clear bool
		votes []*wire.Vote
		after int // how many votes it takes
		err   error
	}{
		{"all", false, []*wire.Vote{granted(), granted(), granted()}, 3, nil},
		{"a majority granted", true, []*wire.Vote{granted(), denied(), granted(), granted(), granted()}, 4, nil},
		{"a majority denied", true, []*wire.Vote{denied(), denied(), granted(), denied(), granted()}, 4, nil},
		{"never clear", true, []*wire.Vote{denied(), failed(), granted(), denied(), granted()}, 5, nil},
		{"no majority", true, []*wire.Vote{failed(), granted(), unknown()}, 3, quorum.ErrNoQuorum},
		{"all restarted", true, []*wire.Vote{guarded(), guarded(), guarded()}, 3, quorum.ErrNoQuorum},
	} {
		subCouncil(t, tt.name, len(tt.votes), func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			var answers []quorum.Answer
			var err error
			done := make(chan struct{})
			go func() {
				defer close(done)
				answers, err = q.Probe(t.Context(), wire.Command("inspect", nil), terms.Timeout, tt.clear, nil, nil)
			}()
			synctest.Wait()
			for i, v := range tt.votes[:tt.after] {
				synctest.Wait()
				assert.Nil(t, answers, "after %d", i)
				fakes[i].vote(t, "inspect", v)
			}
			<-done
			require.ErrorIs(t, err, tt.err)
			require.Len(t, answers, len(fakes), "those that arrived, with an error, too")
			for i, an := range answers {
				assert.Equal(t, fakes[i].name, an.Node)
				assert.Equal(t, i < tt.after, an.Voted)
				if an.Voted {
					assert.Equal(t, *tt.votes[i], an.Vote)
				}
				if tt.err != nil && tt.votes[i].Err != nil {
					assert.ErrorIs(t, err, tt.votes[i].Err)
				}
			}
		})
	}
}

// An acquire, the write-back of its fencing token, and a read end with their context and with the quorum. On a context
// that has ended they ask no node.
func TestWhatEndsACall(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]error{
		"ended before": context.Canceled, "canceled": context.Canceled, "closing": quorum.ErrClosing,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				closing := make(chan struct{})
				q, fakes := council(t, 3, func(c *quorum.Config) { c.Closing = closing })
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if name == "ended before" {
					cancel(errDown)
				}
				fencing := fencing()
				writingBack := asking{ctx: ctx, terms: &fencing, first: quorum.NoFirst}.acquire(t, q)
				if name != "ended before" { // no majority agrees on a token
					fakes[0].vote(t, "acquire", numbered(granted(), 5))
					fakes[1].vote(t, "acquire", numbered(granted(), 7))
				}
				acquiring := asking{ctx: ctx, first: quorum.NoFirst}.acquire(t, q)
				reading := make(chan outcome, 1)
				go func() {
					_, err := q.Read(ctx, wire.Command("inspect", nil), terms.Timeout)
					reading <- outcome{err: err}
				}()
				all := []<-chan outcome{writingBack, acquiring, reading}
				for _, out := range all {
					if name != "ended before" {
						pending(t, out, "no node has answered")
					}
				}
				if name == "closing" {
					close(closing)
				} else {
					cancel(errDown)
				}
				for _, out := range all {
					require.ErrorIs(t, decided(t, out).err, want)
				}
				for _, f := range fakes {
					if name == "ended before" {
						assert.Empty(t, f.calls)
						continue
					}
					require.Len(t, f.asked("release"), 2)
					for i, c := range f.asked("acquire") {
						assert.True(t, c.Canceled.Load(), "an unwritten request is dropped")
						assert.True(t, f.asked("release")[i].Durable)
					}
					f.vote(t, "acquire", granted()) // a majority, too late
				}
			})
		})
	}
}

// intentLife is the TTL of the intents of these tests.
const intentLife = 3 * time.Second

// intent is a vote on a probe that left the intent, which its Number says.
func intent() *wire.Vote { return numbered(denied(), 1) }

func newResidue(q *quorum.Quorum) *quorum.Residue {
	return q.NewResidue(func(v wire.Vote) bool { return v.Number == 1 })
}

// probing probes with res, and returns after these votes. A nil vote is not given: the probe is canceled.
func probing(t *testing.T, q *quorum.Quorum, fakes []*fake, res *quorum.Residue, votes ...*wire.Vote) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := q.Probe(ctx, wire.Command("probe", nil), terms.Timeout, false, res, nil)
		done <- err
	}()
	synctest.Wait()
	missing := false
	for i, v := range votes {
		if v == nil {
			missing = true
			continue
		}
		fakes[i].vote(t, "probe", v)
	}
	synctest.Wait()
	cancel()
	if err := <-done; missing {
		require.ErrorIs(t, err, context.Canceled)
	} else {
		require.NotErrorIs(t, err, context.Canceled)
	}
}

func TestAnIntentIsWithdrawnWhereAProbeMayHaveLeftIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		votes     [2]*wire.Vote // of two probes; nil: no vote
		withdrawn bool
		known     bool // the node reported the intent, which expires
	}{
		{"it left none", [2]*wire.Vote{denied(), denied()}, false, false},
		{"it left it", [2]*wire.Vote{intent(), intent()}, true, true},
		{"only the first left it", [2]*wire.Vote{intent(), denied()}, true, true},
		{"only the second left it", [2]*wire.Vote{denied(), intent()}, true, true},
		{"dropped before it was written", [2]*wire.Vote{unsent(), unsent()}, false, false},
		{"left, then dropped", [2]*wire.Vote{intent(), unsent()}, true, true},
		{"perhaps executed", [2]*wire.Vote{unknown(), denied()}, true, false},
		{"left, then perhaps executed", [2]*wire.Vote{intent(), unknown()}, true, false},
		{"not answered yet", [2]*wire.Vote{denied(), nil}, true, false},
		{"the first is not answered yet", [2]*wire.Vote{nil, denied()}, true, false},
	} {
		subCouncil(t, tt.name, 1, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			res := newResidue(q)
			first := time.Now()
			probing(t, q, fakes, res, tt.votes[0])
			time.Sleep(time.Second)
			probing(t, q, fakes, res, tt.votes[1])
			probe := fakes[0].asked("probe")[0]
			require.NotNil(t, probe.Canceled)
			require.NotNil(t, probe.Written)
			assert.False(t, probe.Canceled.Load())
			left := slices.ContainsFunc(tt.votes[:], func(v *wire.Vote) bool { return v != nil && v.Number == 1 })
			assert.Equal(t, left, res.LeftAny(), "whether the node has reported it")
			if tt.votes[1] == nil {
				defer func() {
					fakes[0].vote(t, "probe", intent())
					assert.True(t, res.LeftAny(), "after the round, too")
				}()
			}

			q.Withdraw(wire.Command("withdraw", nil), terms.Timeout, intentLife, res, nil)
			assert.True(t, probe.Canceled.Load(), "an unwritten probe is dropped")
			calls := fakes[0].asked("withdraw")
			if !tt.withdrawn {
				assert.Empty(t, calls)
				return
			}
			require.Len(t, calls, 1)
			delivery := calls[0]
			assert.True(t, delivery.Durable)
			assert.Equal(t, intentLife, delivery.KeyTTL)
			assert.Equal(t, first, delivery.FirstAsked)
			if tt.known {
				assert.True(t, delivery.HasKeys)
				assert.Nil(t, delivery.Written)
			} else {
				assert.False(t, delivery.HasKeys, "a probe may yet leave it")
				assert.Same(t, probe.Written, delivery.Written)
			}
		})
	}
}

// Where the acquire was granted, it has removed the intent. Where it was not answered yet, it may be denied. A probe
// that was not answered may arrive later.
func TestAnIntentIsNotWithdrawnWhereTheLeaseHasItsKeys(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		probe     *wire.Vote // nil: not answered
		acquire   *wire.Vote // nil: not answered
		withdrawn bool
	}{
		{"granted", intent(), granted(), false},
		{"granted, the probe is not answered", nil, granted(), true},
		{"granted, the probe was lost", unknown(), granted(), true},
		{"granted, the probe was dropped", unsent(), granted(), false},
		{"not answered yet", intent(), nil, true},
		{"not answered yet, nor is the probe", nil, nil, true},
		{"denied", intent(), denied(), true},
		{"denied, without an intent", denied(), denied(), false},
	} {
		subCouncil(t, tt.name, 5, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			res := newResidue(q)
			probing(t, q, fakes, res, tt.probe, intent(), denied(), denied(), denied())
			out := acquire(t, q, quorum.NoFirst)
			for _, f := range fakes[2:] {
				f.vote(t, "acquire", granted())
			}
			if tt.acquire != nil {
				fakes[0].vote(t, "acquire", tt.acquire)
			}
			fakes[1].vote(t, "acquire", denied())
			lease := decided(t, out).lease
			require.NotNil(t, lease)
			q.Withdraw(wire.Command("withdraw", nil), terms.Timeout, intentLife, res, lease)
			assert.Equal(t, tt.withdrawn, len(fakes[0].asked("withdraw")) == 1)
			assert.Len(t, fakes[1].asked("withdraw"), 1)
			assert.Empty(t, fakes[2].asked("withdraw"))
		})
	}
}
