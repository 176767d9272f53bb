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
