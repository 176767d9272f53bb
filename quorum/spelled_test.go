package quorum_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// spelled are operations whose Lock has their arguments.
type spelled struct{ ops }

func (spelled) Extend(_ *quorum.Terms, fence int64) *wire.Op {
	return wire.Command("extend", nil).About(fmt.Sprint("fence ", fence))
}

func (spelled) Release(announce bool) *wire.Op {
	return wire.Command("release", nil).About(fmt.Sprint("announce ", announce))
}

func (spelled) Keep(rest time.Duration) *wire.Op {
	return wire.Command("release", nil).About(fmt.Sprint("keep ", rest))
}

// A release is announced if others may have waited for the lease. If that of a minority were, contenders would wake
// each other without end.
func TestWhichReleasesAreAnnounced(t *testing.T) {
	t.Parallel()
	guarded := func() *wire.Vote { return &wire.Vote{Verdict: wire.Unknown, Guarded: true, Err: &node.RestartError{}} }
	twice := func() *wire.Vote { return &wire.Vote{Verdict: wire.Granted, Server: &link.Server{RunID: "one"}} }
	type votes []*wire.Vote
	for name, tt := range map[string]struct {
		votes     votes // of the masters; nil: it does not answer
		first     int   // the master that is asked first, from 1; 0: none
		fenced    bool  // the grants carry different fencing tokens, and the masters refuse the write-back
		late      time.Duration
		released  bool // by the holder
		silent    bool
		announced bool
	}{
		"held":                          {votes: votes{granted(), granted(), nil}, released: true, announced: true},
		"held, silently":                {votes: votes{granted(), granted(), nil}, released: true, silent: true},
		"given up, no answer":           {votes: votes{nil, nil, nil}, announced: true},
		"given up, one granted":         {votes: votes{granted(), nil, nil}, announced: true},
		"given up, one denied":          {votes: votes{granted(), denied(), nil}, announced: true},
		"given up, most denied":         {votes: votes{granted(), denied(), denied(), nil, nil}, announced: true},
		"given up, first one asked":     {votes: votes{nil, nil, nil}, first: 1, announced: true},
		"first one denied":              {votes: votes{denied(), nil, nil}, first: 1},
		"split":                         {votes: votes{granted(), denied(), denied()}},
		"split, of five":                {votes: votes{granted(), granted(), denied(), denied(), denied()}},
		"split, and one is silent":      {votes: votes{granted(), denied(), unknown()}, announced: true},
		"split, and one is down":        {votes: votes{granted(), denied(), unsent()}},
		"split, and two are down":       {votes: votes{granted(), denied(), denied(), unsent(), unsent()}},
		"split, and one refused":        {votes: votes{granted(), denied(), failed()}},
		"denied":                        {votes: votes{denied(), denied(), denied()}},
		"denied, one has not answered":  {votes: votes{denied(), denied(), nil}},
		"all silent":                    {votes: votes{unknown(), unknown(), unknown()}, announced: true},
		"most silent":                   {votes: votes{granted(), unknown(), unknown()}, announced: true},
		"most down":                     {votes: votes{unsent(), unsent(), nil}},
		"all refused":                   {votes: votes{failed(), failed(), failed()}},
		"all restarted":                 {votes: votes{guarded(), guarded(), guarded()}},
		"split, and two have restarted": {votes: votes{granted(), granted(), denied(), guarded(), guarded()}},
		"one server twice":              {votes: votes{twice(), twice(), unsent()}},
		"one server twice, too late":    {votes: votes{twice(), twice(), granted()}, late: terms.TTL, announced: true},
		"granted too late":              {votes: votes{granted(), granted(), granted()}, late: terms.TTL, announced: true},
		"granted, the token is refused": {votes: votes{granted(), granted(), granted()}, fenced: true, announced: true},
		"granted, token is not taken":   {votes: votes{granted(), granted(), nil}, fenced: true, announced: true},
	} {
		subCouncil(t, name, len(tt.votes), func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
			terms := terms
			terms.Fencing = tt.fenced
			ctx, cancel := context.WithCancel(t.Context())
			out := asking{ctx: ctx, ops: spelled{}, terms: &terms, first: tt.first - 1}.acquire(t, q)
			time.Sleep(tt.late)
			for i, f := range fakes {
				if tt.votes[i] == nil {
					continue
				}
				if tt.fenced {
					f.script = func(op string) *wire.Vote { return map[string]*wire.Vote{"raise": failed()}[op] }
					numbered(tt.votes[i], int64(5+i))
				}
				f.vote(t, "acquire", tt.votes[i])
				synctest.Wait()
			}
			cancel()
			o := <-out
			require.Equal(t, tt.released, o.err == nil, "%v", o.err)
			if tt.released {
				o.lease.Release(tt.silent, nil)
			}
			for _, f := range fakes {
				for _, c := range f.asked("release") {
					assert.Equal(t, fmt.Sprint("announce ", tt.announced), c.Op.Lock, f.name)
				}
			}
			if tt.announced {
				n := 0
				for _, f := range fakes {
					n += len(f.asked("release"))
				}
				assert.NotZero(t, n)
			}
		})
	}
}

// A grant that the OnVote callback still handles is a grant: its node kept others out.
func TestAReleaseIsAnnouncedForAGrantThatIsNotCountedYet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handled := make(chan struct{})
		q, fakes := council(t, 3, func(cfg *quorum.Config) {
			cfg.OnVote = func(node string, op *wire.Op, _ wire.Vote) {
				if node == "B" && op.Name == "acquire" {
					<-handled
				}
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		out := asking{ctx: ctx, ops: spelled{}, first: quorum.NoFirst}.acquire(t, q)
		calls := fakes[1].asked("acquire")
		require.NotEmpty(t, calls)
		go calls[0].Voter.Vote(int(calls[0].Index), *granted())
		synctest.Wait()
		fakes[0].vote(t, "acquire", granted())
		fakes[2].vote(t, "acquire", denied())
		cancel()
		require.ErrorIs(t, (<-out).err, context.Canceled)
		for _, f := range fakes {
			require.Len(t, f.asked("release"), 1)
			assert.Equal(t, "announce true", f.asked("release")[0].Op.Lock)
		}
		close(handled)
	})
}

// Whole milliseconds, rounded up, and at least one: no TTL may be 0.
func TestKeepEndsAtTheRequestedTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for left, want := range map[time.Duration]time.Duration{
			20*time.Second + 500*time.Microsecond: 20*time.Second + time.Millisecond,
			20 * time.Second:                      20 * time.Second,
			-time.Second:                          time.Millisecond,
		} {
			q, fakes := council(t, 3)
			answer(fakes, granted(), granted(), unknown())
			lease, err := q.Acquire(t.Context(), spelled{}, &terms, quorum.NoFirst, new(quorum.PermanentFailures))
			require.NoError(t, err)
			lease.Keep(time.Now().Add(left), nil)
			for _, f := range fakes {
				calls := f.asked("release")
				require.Len(t, calls, 1)
				assert.Equal(t, fmt.Sprint("keep ", want), calls[0].Op.Lock)
				assert.True(t, calls[0].Keeps)
				assert.Equal(t, terms.TTL+want+terms.Drift, calls[0].KeyTTL)
			}
		}
	})
}

func TestARoundThatDidNotConfirmHasNoSubscribers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		votes []*wire.Vote
		want  int64
	}{
		{"two", []*wire.Vote{numbered(granted(), 3), numbered(granted(), 2), granted()}, 2},
		{"a script without a number", []*wire.Vote{granted(), granted(), granted()}, 0},
		{"some denied", []*wire.Vote{numbered(granted(), 3), denied(), unknown()}, 2},
		{"gone", []*wire.Vote{numbered(granted(), 3), denied(), denied()}, 0},
		{"no majority", []*wire.Vote{numbered(granted(), 3), failed(), unknown()}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q, fakes := council(t, 3)
			lease := held(t, q, fakes)
			got := int64(-1)
			lease.Release(false, func(subscribers int64, _ error) { got = subscribers })
			for i, f := range fakes {
				f.vote(t, "release", tt.votes[i])
			}
			assert.Equal(t, tt.want, got)
			done, again := newDone(t)
			lease.Release(false, func(subscribers int64, err error) {
				assert.Zero(t, subscribers)
				done(err)
			})
			require.ErrorIs(t, again(), quorum.ErrEnded)
			assert.Len(t, fakes[0].asked("release"), 1, "only the first call does anything")
		})
	}
}

// The release must outlive every request that may still reach the node.
func TestVotesOnAnExtensionDecideWhetherTheReleaseIsDurable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name            string
		acquire         *wire.Vote
		extend          *wire.Vote // nil: not answered yet
		late            *wire.Vote // on the acquire, after the vote on the extension, which says more
		durable, giveUp bool
	}{
		{"extended", granted(), granted(), nil, true, true},
		{"healed", denied(), healed(), nil, true, true},
		{"extended within the restart window", denied(), guarded(), nil, true, true},
		{"acquired within the restart window", guarded(), failed(), nil, true, true},
		{"held by another", granted(), denied(), nil, false, false},
		{"never executed", granted(), failed(), nil, true, true},
		{"neither operation was executed", unsent(), unsent(), nil, false, false},
		{"perhaps executed", granted(), unknown(), nil, true, false},
		{"perhaps executed, the acquire denied", denied(), unknown(), nil, true, false},
		{"in flight", granted(), nil, nil, true, false},
		{"in flight, the acquire denied", denied(), nil, nil, true, false},
		{"in flight, the acquire unsent", unsent(), nil, nil, true, false},
		{"extended, the acquire late and unknown", nil, granted(), unknown(), true, true},
		{"held by another, the acquire late", nil, denied(), granted(), false, false},
		{"perhaps executed, the acquire late", nil, unknown(), granted(), true, false},
		{"healed, the acquire late", nil, healed(), denied(), true, true},
		{"never executed, the acquire late and unknown", nil, failed(), unknown(), true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q, fakes := council(t, 3)
			answer(fakes, tt.acquire, granted(), granted())
			lease := acquired(t, q, &terms)
			fakes[0].script = nil
			lease.Extend(func(err error) { require.NoError(t, err) })
			if tt.extend != nil {
				fakes[0].vote(t, "extend", tt.extend)
			}
			if tt.late != nil {
				fakes[0].vote(t, "acquire", tt.late)
			}
			lease.Release(false, nil)
			releases := fakes[0].asked("release")
			if !tt.durable {
				for _, r := range releases {
					assert.False(t, r.Durable)
				}
				return
			}
			require.Len(t, releases, 1)
			assert.True(t, releases[0].Durable)
			assert.Equal(t, tt.giveUp, releases[0].HasKeys, "may be given up")
		})
	}
}
