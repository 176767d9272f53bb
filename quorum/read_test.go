package quorum_test

import (
	"context"
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
