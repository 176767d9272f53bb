package quorum_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-multierror"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

func TestAcquireDoesNotWaitForStragglers(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 5, 7, 11} {
		subCouncil(t, fmt.Sprint(n), n, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			asked := time.Now()
			out := acquire(t, q, quorum.NoFirst)
			for i := range n / 2 {
				fakes[i].vote(t, "acquire", granted())
				pending(t, out, fmt.Sprintf("at %d of %d", i+1, n))
			}
			fakes[n-1].vote(t, "acquire", granted())
			o := decided(t, out)
			require.NoError(t, o.err)
			assert.Equal(t, n/2+1, q.Majority())
			assert.Equal(t, asked.Add(terms.TTL-terms.Drift), o.lease.Until())
			assert.False(t, o.lease.Capped())
			for _, f := range fakes {
				require.Len(t, f.asked("acquire"), 1)
				assert.Equal(t, asked.Add(terms.Timeout), f.asked("acquire")[0].Deadline)
				assert.Equal(t, terms.Window, f.asked("acquire")[0].Window)
				assert.Empty(t, f.asked("release"))
			}
		})
	}
}

// A round is lost when no majority is left and its reason is known, which a later vote may change.
func TestWhenARoundIsLost(t *testing.T) {
	t.Parallel()
	said := &wire.Vote{Verdict: wire.Denied, Data: "holder", Wait: 7 * time.Second}
	for name, tt := range map[string]struct {
		votes []*wire.Vote // in this order. The last one decides; a node of nil does not vote.
		first int
		wait  time.Duration
	}{
		"no majority is left":   {[]*wire.Vote{denied(), denied(), nil, nil, denied()}, quorum.NoFirst, 0},
		"it is held":            {[]*wire.Vote{denied(), failed(), denied()}, quorum.NoFirst, 0},
		"one did not answer":    {[]*wire.Vote{failed(), nil, denied(), denied(), denied()}, quorum.NoFirst, 0},
		"the first one granted": {[]*wire.Vote{granted(), denied(), said}, 0, 7 * time.Second},
		"the first one denied":  {[]*wire.Vote{said, nil, nil}, 0, 7 * time.Second},
		"one node":              {[]*wire.Vote{said}, quorum.NoFirst, 7 * time.Second},
	} {
		subCouncil(t, name, len(tt.votes), func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			out := acquire(t, q, tt.first)
			var last *wire.Vote
			answered := 0
			for i, v := range tt.votes {
				if v == nil {
					continue
				}
				last = v
				pending(t, out, "the others may answer, and then the lock is held")
				fakes[i].vote(t, "acquire", v)
				if v.Verdict.Answered() {
					answered++
				}
			}
			var d *quorum.DeniedError
			require.ErrorAs(t, decided(t, out).err, &d)
			assert.Equal(t, tt.wait, d.Wait)
			byFirst := name == "the first one denied"
			assert.Equal(t, byFirst, d.ByFirst)
			require.Len(t, d.Votes(), answered, "those that arrived")
			assert.Equal(t, last.Data, d.Votes()[answered-1].Data)
			for i, f := range fakes {
				if byFirst && i > 0 {
					assert.Empty(t, f.calls, "nothing was written there")
				} else {
					assert.Len(t, f.asked("release"), 1)
				}
			}
			if name == "one did not answer" {
				fakes[1].vote(t, "acquire", granted())
				assert.Equal(t, wire.Granted, d.Votes()[0].Verdict, "a late one, too")
			}
		})
	}
}

func TestNoQuorumCarriesANodeErrorForEachThatFailed(t *testing.T) {
	inCouncil(t, 5, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
		out := acquire(t, q, quorum.NoFirst)
		fakes[3].vote(t, "acquire", granted())
		fakes[4].vote(t, "acquire", failed())
		fakes[0].vote(t, "acquire", unknown())
		fakes[1].vote(t, "acquire", &wire.Vote{Verdict: wire.Unknown, Err: &node.RestartError{Left: time.Second}})
		o := decided(t, out)
		require.ErrorIs(t, o.err, quorum.ErrNoQuorum)

		var all *multierror.Error
		require.ErrorAs(t, o.err, &all)
		var text []string
		for _, err := range all.WrappedErrors() {
			var one *quorum.NodeError
			require.ErrorAs(t, err, &one)
			text = append(text, one.Node+" "+one.Op)
		}
		assert.Equal(t, []string{"A acquire", "B acquire", "E acquire"}, text)
		require.ErrorIs(t, o.err, errDown)
		require.ErrorIs(t, o.err, node.ErrTimeout)
		var young *node.RestartError
		require.ErrorAs(t, o.err, &young)
		assert.NotContains(t, o.err.Error(), "\n", "one line, for a log")
	})
}

// The test also checks which of the releases are durable. A node drops an unwritten release if its acquire was not
// written either.
func TestAFailedAcquireIsReleasedEverywhere(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name              string
		vote              *wire.Vote
		released, durable bool
		giveUp            bool // may be given up when the key has expired
	}{
		{"granted", granted(), true, true, true},
		{"denied", denied(), true, false, false},
		{"failed", failed(), true, false, false},
		{"dropped before it was written", unsent(), false, false, false},
		{"unknown", unknown(), true, true, false},
		{"granted within the window", &wire.Vote{Verdict: wire.Unknown, Err: &node.RestartError{}}, true, true, false},
		{"not answered yet", nil, true, true, false},
	} {
		subCouncil(t, tt.name, 5, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			out := acquire(t, q, quorum.NoFirst)
			asked := time.Now()
			if tt.vote != nil {
				fakes[0].vote(t, "acquire", tt.vote)
			}
			for _, f := range fakes[1:4] {
				f.vote(t, "acquire", denied())
			}
			require.Error(t, decided(t, out).err)
			releases := fakes[0].asked("release")
			if !tt.released {
				assert.Empty(t, releases)
				return
			}
			require.Len(t, releases, 1)
			r, acquire := releases[0], fakes[0].asked("acquire")[0]
			assert.Equal(t, tt.durable, r.Durable)
			assert.Nil(t, r.Canceled, "a release must not be dropped")
			if tt.giveUp {
				assert.True(t, r.HasKeys)
				assert.Equal(t, asked.Add(terms.TTL+terms.Drift), r.Asked.Add(r.KeyTTL))
			} else {
				assert.False(t, r.HasKeys)
			}
			assert.Equal(t, tt.durable && !tt.giveUp, r.Written == acquire.Written)
			assert.Len(t, fakes[4].asked("release"), 1, "the node that did not answer gets a release, too")
		})
	}
}

func TestOthersAreAskedIfTheFirstNodeGrantsOrFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		vote *wire.Vote
		need int // grants of others
	}{
		{"granted", granted(), 2},
		{"failed", failed(), 3},
		{"unknown", unknown(), 3},
		{"dropped", unsent(), 3},
	} {
		subCouncil(t, tt.name, 5, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			asked := time.Now()
			out := acquire(t, q, 2)
			time.Sleep(30 * time.Millisecond)
			fakes[2].vote(t, "acquire", tt.vote)
			for _, i := range []int{0, 1, 3, 4} {
				require.Len(t, fakes[i].asked("acquire"), 1)
				c := fakes[i].asked("acquire")[0]
				assert.Equal(t, asked.Add(30*time.Millisecond+terms.Timeout), c.Deadline, "each has its own deadline")
				assert.Equal(t, asked.Add(30*time.Millisecond), c.Asked)
			}
			assert.Len(t, fakes[2].asked("acquire"), 1, "no node is asked twice")
			for i := range tt.need {
				pending(t, out, "too few grants")
				fakes[[]int{0, 1, 3}[i]].vote(t, "acquire", granted())
			}
			o := decided(t, out)
			require.NoError(t, o.err)
			assert.Equal(t, asked.Add(terms.TTL-terms.Drift), o.lease.Until(), "counted from the first request")
		})
	}
}

func TestTheOnlyNodeIsTheFirstNode(t *testing.T) {
	t.Parallel()
	for _, v := range []*wire.Vote{granted(), denied(), failed(), unknown()} {
		synctest.Test(t, func(t *testing.T) {
			q, fakes := council(t, 1)
			out := acquire(t, q, 0)
			fakes[0].vote(t, "acquire", v)
			err := decided(t, out).err
			var d *quorum.DeniedError
			assert.Equal(t, v.Verdict == wire.Granted, err == nil, "%v", v.Verdict)
			assert.Equal(t, v.Verdict == wire.Denied, errors.As(err, &d), "%v", v.Verdict)
		})
	}
}

func TestAcquireCanceledBeforeTheOthersAreAsked(t *testing.T) {
	inCouncil(t, 3, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
		ctx, cancel := context.WithCancel(t.Context())
		out := asking{ctx: ctx}.acquire(t, q)
		cancel()
		require.ErrorIs(t, decided(t, out).err, context.Canceled)
		assert.Len(t, fakes[0].asked("release"), 1)
		fakes[0].vote(t, "acquire", granted()) // late
		for _, f := range fakes[1:] {
			for _, c := range f.asked("acquire") {
				assert.True(t, c.Canceled.Load(), "submitted after the release, but never written")
			}
			assert.Empty(t, f.asked("release"))
		}
	})
}
