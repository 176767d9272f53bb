package quorum_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// guarded returns the vote of a server that granted within its restart window.
func guarded() *wire.Vote {
	return &wire.Vote{Verdict: wire.Unknown, Guarded: true, Err: &node.RestartError{Left: time.Second}}
}

// TestAGuardedGrantCountsOnAReservedNode has node A answer within its restart window while node C is down, so that its
// vote decides whether an extension has a majority.
func TestAGuardedGrantCountsOnAReservedNode(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	refused := func() *wire.Vote {
		return &wire.Vote{Verdict: wire.Failed, Unsent: true, Err: &node.RestartError{Left: time.Second}}
	}
	type extension struct {
		at   time.Duration // since the acquire, plus the suspensions before
		a, c *wire.Vote
		want error
	}
	for _, tt := range []struct {
		name    string
		acquire *wire.Vote // of A
		asleep  time.Duration
		then    []extension
	}{
		{"granted the acquire", granted(), 0, []extension{{5 * time.Second, guarded(), failed(), nil}}},
		{"denied the acquire", denied(), 0, []extension{{5 * time.Second, guarded(), failed(), quorum.ErrNoQuorum}}},
		{"granted the acquire in its window", guarded(), 0, []extension{
			{5 * time.Second, guarded(), failed(), quorum.ErrNoQuorum},
		}},
		{"refused an extension in its window", granted(), 0, []extension{
			{5 * time.Second, refused(), failed(), quorum.ErrNoQuorum},
		}},
		{"granted an extension", denied(), 0, []extension{
			{4 * time.Second, granted(), failed(), nil},
			{13 * time.Second, guarded(), failed(), nil},
		}},
		{"reserved a guarded grant again", granted(), 0, []extension{
			{5 * time.Second, guarded(), failed(), nil},
			{14 * time.Second, guarded(), failed(), nil},
		}},
		{"restored the key of a lease that it had", granted(), 0, []extension{
			{4 * time.Second, healed(), granted(), nil},
			{5 * time.Second, guarded(), failed(), nil},
		}},
		{"restored the key of a lease that it never had", denied(), 0, []extension{
			{4 * time.Second, healed(), granted(), nil},
			{5 * time.Second, guarded(), failed(), quorum.ErrNoQuorum},
		}},
		{"restored the key while it was reserved", granted(), 0, []extension{
			{3 * time.Second, failed(), granted(), nil},
			{6 * time.Second, healed(), granted(), nil},
			{10 * time.Second, guarded(), failed(), nil},
		}},
		{"restored the key when the reservation had ended", granted(), 0, []extension{
			{4 * time.Second, failed(), granted(), nil},
			{validity, healed(), granted(), nil},
			{validity + time.Second, guarded(), failed(), quorum.ErrNoQuorum},
		}},
		{"just before the reservation ends", granted(), 0, []extension{
			{4 * time.Second, failed(), granted(), nil},
			{validity - ms, guarded(), failed(), nil},
		}},
		{"the reservation has ended", granted(), 0, []extension{
			{4 * time.Second, failed(), granted(), nil},
			{validity, guarded(), failed(), quorum.ErrNoQuorum},
		}},
		{"the machine slept until it ended", granted(), 3 * time.Second, []extension{
			{4 * time.Second, failed(), granted(), nil},
			{validity - 3*time.Second, guarded(), failed(), quorum.ErrNoQuorum},
		}},
	} {
		subSleeper(t, tt.name, func(t *testing.T, s *sleeper, q *quorum.Quorum, fakes []*fake) {
			start := time.Now()
			answer(fakes, tt.acquire, granted(), granted())
			lease := acquired(t, q, &terms)
			for _, x := range tt.then {
				time.Sleep(time.Until(start.Add(x.at)))
				fakes[0].answers(x.a)
				fakes[2].answers(x.c)
				result := extend(t, lease)
				if x.want == nil {
					require.NoError(t, result(), "at %v", x.at)
				} else {
					require.ErrorIs(t, result(), x.want, "at %v", x.at)
					assert.ErrorContains(t, result(), "restarted")
				}
				s.sleep(tt.asleep)
				tt.asleep = 0
			}
		})
	}
}

// TestAGuardedGrantConfirmsAKeepOnlyOfAReservedNode has a minimum hold end a lease on nodes that restarted.
func TestAGuardedGrantConfirmsAKeepOnlyOfAReservedNode(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		acquire *wire.Vote // of the node whose server restarts
		pass    time.Duration
		want    error
	}{
		"its acquire counted":         {granted(), 0, nil},
		"a validity ago":              {granted(), validity, quorum.ErrNoQuorum},
		"its acquire did not count":   {guarded(), 0, quorum.ErrNoQuorum},
		"its acquire was not granted": {denied(), 0, quorum.ErrNoQuorum},
	} {
		subSleeper(t, name, func(t *testing.T, _ *sleeper, q *quorum.Quorum, fakes []*fake) {
			answer(fakes, x.acquire, granted(), granted())
			lease := acquired(t, q, &terms)
			time.Sleep(x.pass)
			fakes[0].answers(guarded())
			fakes[2].answers(failed())
			done, result := newDone(t)
			lease.Keep(time.Now().Add(time.Minute), ignoringSubscribers(done))
			require.ErrorIs(t, result(), x.want)
			keep := fakes[1].asked("release")[0]
			assert.Equal(t, terms.Window, keep.Window, "the node guards its votes")
			assert.Equal(t, fakes[1].asked("acquire")[0].Asked, keep.FirstAsked, "lost connections may deliver requests since")
		})
	}
}

// TestTwoAddressesOfOneServerReserveNothing has an address that led to another node's server be corrected. The vote on
// the acquire did not count, so a grant of the server that answers now, within its restart window, does not count.
func TestTwoAddressesOfOneServerReserveNothing(t *testing.T) {
	t.Parallel()
	for name, corrected := range map[string]int{"the first": 0, "the second": 1} {
		subSleeper(t, name, func(t *testing.T, _ *sleeper, q *quorum.Quorum, fakes []*fake) {
			answer(fakes, from("s1", granted()), from("s1", granted()), from("s3", granted()))
			lease := acquired(t, q, &terms)
			fakes[1-corrected].answers(failed())
			for _, v := range []*wire.Vote{healed(), guarded()} {
				fakes[corrected].answers(from("s2", v))
				result := extend(t, lease)
				require.ErrorIs(t, result(), quorum.ErrNoQuorum)
			}
		})
	}
}

// TestAServerWithoutIdentityDoesNotCountOnAReservedNode has servers stop reporting their run ids, so that two addresses
// of one server could not be noticed.
func TestAServerWithoutIdentityDoesNotCountOnAReservedNode(t *testing.T) {
	onSleeper(t, func(t *testing.T, _ *sleeper, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		for _, f := range fakes[:2] {
			v := guarded()
			v.Err = &node.IdentityError{}
			f.answers(v)
		}
		fakes[2].answers(failed())
		result := extend(t, lease)
		require.ErrorIs(t, result(), quorum.ErrNoQuorum)
	})
}
