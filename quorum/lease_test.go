package quorum_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// errOpen stands for a done that was not called yet.
var errOpen = errors.New("done was not called yet")

// newDone returns a done, and a function that returns its result: errOpen before the call. A second call of done fails
// the test.
func newDone(t testing.TB) (done func(error), result func() error) {
	t.Helper()
	err, calls := errOpen, 0
	return func(e error) {
		calls++
		err = e
		assert.Equal(t, 1, calls, "done was called twice")
	}, func() error { return err }
}

// extend extends a lease, and returns what newDone returns.
func extend(t testing.TB, lease *quorum.Lease) (result func() error) {
	t.Helper()
	done, result := newDone(t)
	lease.Extend(done)
	return result
}

// ignoringSubscribers returns a done for Release that ignores the number of subscribers.
func ignoringSubscribers(done func(error)) func(int64, error) {
	return func(_ int64, err error) { done(err) }
}

// votes are spelled with a letter for each node: granted, denied, healed, failed, unknown. A space follows the one that
// decides. A name that only a minority keeps is free for others, so it takes a majority of grants to keep it. A
// release needs no more than answers.
func TestAnOperationOnALeaseNeedsAMajority(t *testing.T) {
	t.Parallel()
	type operation = func(*quorum.Quorum, *quorum.Lease, func(error))
	extend := func(_ *quorum.Quorum, l *quorum.Lease, done func(error)) { l.Extend(done) }
	release := func(_ *quorum.Quorum, l *quorum.Lease, done func(error)) { l.Release(false, ignoringSubscribers(done)) }
	keep := func(_ *quorum.Quorum, l *quorum.Lease, done func(error)) {
		l.Keep(time.Now().Add(time.Second), ignoringSubscribers(done))
	}
	byToken := func(q *quorum.Quorum, _ *quorum.Lease, done func(error)) {
		q.ReleaseToken(wire.Command("release", nil), terms.Timeout, time.Minute, done)
	}
	for _, tt := range []struct {
		name  string
		do    operation
		votes string
		want  error
	}{
		{"extend: all", extend, "GGG GG", nil},
		{"extend: three of five", extend, "FDGGG", nil},
		{"extend: two of five", extend, "FFUGG", quorum.ErrNoQuorum},
		{"extend: one denial does not end it", extend, "DGGFF", quorum.ErrNoQuorum},
		{"extend: nor do two", extend, "DDGFF", quorum.ErrNoQuorum},
		{"extend: one error does not end it", extend, "FGGG G", nil},
		{"extend: three say it is gone", extend, "DDD GG", quorum.ErrGone},
		{"extend: three healed it, which does not count yet", extend, "HHH GG", quorum.ErrGone},
		{"extend: two healed it, three kept it", extend, "HHGGG", nil},
		{"extend: healing is no vote", extend, "HGGFF", quorum.ErrNoQuorum},
		{"extend: no node answers", extend, "UUUUU", quorum.ErrNoQuorum},
		{"release: all", release, "GGG GG", nil},
		{"release: three of five", release, "FUGGG", nil},
		{"release: no longer there", release, "DDD GG", quorum.ErrGone},
		{"release: some gone, a majority answered", release, "DDGGU", nil},
		{"release: too few answer", release, "GGUUF", quorum.ErrNoQuorum},
		{"release: no node answers", release, "UUUUU", quorum.ErrNoQuorum},
		{"keep: three of five", keep, "FUGGG", nil},
		{"keep: no longer there", keep, "DDD GG", quorum.ErrGone},
		{"keep: some gone", keep, "DDGGU", quorum.ErrNoQuorum},
		{"by token: a majority has it", byToken, "GG D", nil},
		{"by token: a majority does not have it", byToken, "GDD", quorum.ErrGone},
		{"by token: a majority answers", byToken, "GDF", nil},
		{"by token: no majority answers", byToken, "GUF", quorum.ErrNoQuorum},
	} {
		before, after, _ := strings.Cut(tt.votes, " ")
		votes := before + after
		subCouncil(t, tt.name, len(votes), func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			lease := held(t, q, fakes)
			until := lease.Until()
			time.Sleep(3 * time.Second)
			if strings.HasPrefix(tt.name, "extend") && tt.want == nil {
				until = time.Now().Add(terms.TTL - terms.Drift)
			}
			done, result := newDone(t)
			tt.do(q, lease, done)
			for i, f := range fakes {
				v := map[rune]func() *wire.Vote{
					'G': granted, 'D': denied, 'H': healed, 'F': failed, 'U': unknown,
				}[rune(votes[i])]()
				f.vote(t, f.calls[len(f.calls)-1].Op.Name, v)
				assert.Equal(t, i+1 < len(before), errors.Is(result(), errOpen), "after vote %d", i+1)
			}
			require.ErrorIs(t, result(), tt.want)
			assert.Equal(t, until, lease.Until())
			found := strings.HasPrefix(tt.name, "extend") && errors.Is(tt.want, quorum.ErrGone)
			assert.Equal(t, found, lease.Gone())
		})
	}
}

func TestEveryNodeIsAskedToReleaseATokenDurablyAndToBroadcast(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 3)
	q.ReleaseToken(wire.Command("release", nil), terms.Timeout, time.Minute, func(error) {})
	q.Broadcast(wire.Command("announce", nil), terms.Timeout)
	for _, f := range fakes {
		require.Len(t, f.asked("announce"), 1)
		f.vote(t, "announce", granted())
		require.Len(t, f.asked("release"), 1)
		release := f.asked("release")[0]
		assert.True(t, release.Durable)
		assert.Equal(t, time.Minute, release.KeyTTL)
		assert.False(t, release.HasKeys)
	}
}

// A majority may grant after an earlier extension found that the token was gone, and restored the keys.
func TestNoExtensionMovesTheDeadlineOfALostLease(t *testing.T) {
	inCouncil(t, 3, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
		lease := held(t, q, fakes)
		until := lease.Until()
		time.Sleep(time.Second)
		first, second := extend(t, lease), extend(t, lease)
		for i, v := range []*wire.Vote{healed(), granted()} {
			for _, f := range fakes {
				c := f.asked("extend")[i]
				c.Voter.Vote(int(c.Index), *v)
			}
		}
		require.ErrorIs(t, first(), quorum.ErrGone)
		require.ErrorIs(t, second(), quorum.ErrEnded)
		assert.Equal(t, until, lease.Until())
	})
}

// TestANodeThatDropsAnOperationDuringTheReleaseIsAskedToRelease makes two of five nodes drop an operation after the
// release has begun and before it has asked them. With a third node frozen, their answers are needed for the majority.
func TestANodeThatDropsAnOperationDuringTheReleaseIsAskedToRelease(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dropped string     // the operation
		acquire *wire.Vote // of the two nodes; nil: not answered yet
	}{
		{"acquire", nil},
		{"extend", unsent()},
	} {
		t.Run(tt.dropped, func(t *testing.T) {
			t.Parallel()
			q, fakes := council(t, 5)
			frozen, granting, dropping := fakes[0], fakes[:3], fakes[3:]
			answerAll(granting, granted())
			answerAll(dropping, tt.acquire)
			lease := acquired(t, q, &terms)
			answerAll(dropping, nil)
			if tt.dropped == "extend" {
				lease.Extend(func(err error) { require.NoError(t, err) })
			}

			frozen.script = func(string) *wire.Vote { // called when the release asks the first node
				for _, f := range dropping {
					require.True(t, f.asked(tt.dropped)[0].Canceled.Load())
					f.vote(t, tt.dropped, &wire.Vote{Verdict: wire.Failed, Err: node.ErrDropped, Unsent: true})
				}
				return nil
			}
			done, result := newDone(t)
			lease.Release(false, ignoringSubscribers(done))
			for _, f := range dropping {
				f.vote(t, "release", denied())
			}
			require.ErrorIs(t, result(), errOpen)
			frozen.vote(t, "release", unknown())
			require.NoError(t, result())
		})
	}
}

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
	nameless := guarded()
	nameless.Err = &node.IdentityError{}
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
		// It stopped reporting its run id, so that two addresses of one server could not be noticed.
		{"tells no identity", granted(), 0, []extension{{5 * time.Second, nameless, failed(), quorum.ErrNoQuorum}}},
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
					assert.ErrorIs(t, result(), x.a.Err)
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
