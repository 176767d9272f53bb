package quorum_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

func TestNodeErrorsAreGroupedByTheirReason(t *testing.T) {
	t.Parallel()
	failure := func(node string, err error) *quorum.NodeError {
		return &quorum.NodeError{Node: node, Op: "acquire", Err: err}
	}
	refused := errors.New("refused")
	for _, tt := range []struct {
		name   string
		failed []*quorum.NodeError
		want   string
	}{
		{"one", []*quorum.NodeError{failure("A:1", errDown)}, "A:1: down"},
		{
			"two reasons",
			[]*quorum.NodeError{failure("A:1", errDown), failure("B:1", refused), failure("C:1", errDown)},
			"A:1, C:1: down; B:1: refused",
		},
		{
			"reasons that name the node",
			[]*quorum.NodeError{
				failure("A:1", errors.New("dial tcp A:1: refused")), failure("B:1", errors.New("dial tcp B:1: refused")),
				failure("C:1", errors.New("read tcp x:9->C:1:\n refused")),
			},
			"A:1, B:1: dial tcp: refused; C:1: read tcp x:9: refused",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := quorum.JoinNodeErrors(tt.failed)
			require.EqualError(t, err, tt.want)
			for _, f := range tt.failed {
				assert.ErrorIs(t, err, f.Err)
			}
		})
	}
	assert.NoError(t, quorum.JoinNodeErrors(nil))
}

func TestALongReplyIsCut(t *testing.T) {
	t.Parallel()
	for length, want := range map[int]string{320: strings.Repeat("x", 320), 321: strings.Repeat("x", 320) + "…"} {
		err := &quorum.NodeError{Node: "A", Op: "acquire", Err: errors.New(strings.Repeat("x", length))}
		assert.Equal(t, "A: acquire: "+want, err.Error())
	}
	half := &quorum.NodeError{Node: "A", Op: "acquire", Err: errors.New(strings.Repeat("x", 319) + "é")}
	assert.Equal(t, "A: acquire: "+strings.Repeat("x", 319)+"…", half.Error(), "no half of a character")
}

// unread is an error whose text must not be built.
type unread struct{ t *testing.T }

func (e unread) Error() string {
	e.t.Error("the text was built")
	return "unread"
}

func TestAFailedExtensionBuildsNoText(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 5)
	lease := held(t, q, fakes)
	answerAll(fakes, &wire.Vote{Verdict: wire.Failed, Err: unread{t}})
	result := extend(t, lease)
	err := result()
	require.ErrorIs(t, err, quorum.ErrNoQuorum)
	assert.ErrorIs(t, err, unread{t})
}

// Permanent failures of a majority end the wait.
func TestWhichFailuresArePermanent(t *testing.T) {
	t.Parallel()
	identity := func() *wire.Vote { return &wire.Vote{Verdict: wire.Unknown, Err: &node.IdentityError{Err: errDown}} }
	dropped := func() *wire.Vote { return &wire.Vote{Verdict: wire.Failed, Unsent: true, Err: node.ErrDropped} }
	x := func(v *wire.Vote) *wire.Vote { return from("x", v) }
	type round struct {
		permanent bool // after it
		votes     []*wire.Vote
	}
	ends := func(votes ...*wire.Vote) round { return round{true, votes} }
	waits := func(votes ...*wire.Vote) round { return round{false, votes} }
	for name, tt := range map[string]struct {
		rounds  []round
		callers bool // each round is another caller's
	}{
		"a majority":                         {rounds: []round{ends(identity(), identity(), granted())}},
		"a minority":                         {rounds: []round{waits(identity(), failed(), granted())}},
		"a majority of five":                 {rounds: []round{ends(failed(), identity(), identity(), failed(), identity())}},
		"temporary failures":                 {rounds: []round{waits(failed(), failed(), unknown())}},
		"one server under two names":         {rounds: []round{waits(failed(), x(granted()), x(denied()))}},
		"one server under three names":       {rounds: []round{ends(x(granted()), x(denied()), x(denied()))}},
		"the second name granted":            {rounds: []round{ends(x(denied()), x(granted()), x(denied()))}},
		"the third name granted":             {rounds: []round{ends(x(denied()), x(denied()), x(granted()))}},
		"the name whose denial is overruled": {rounds: []round{ends(identity(), x(denied()), x(granted()))}},
		// An error reply such as OOM also identifies the server.
		"nodes that recover": {rounds: []round{
			ends(identity(), identity(), identity()), waits(from("a", granted()), from("b", failed()), identity()),
		}},
		// A dropped request says nothing about the node.
		"requests that are dropped": {rounds: []round{
			ends(identity(), identity(), identity()), ends(dropped(), dropped(), dropped()),
		}},
		// A right may be missing only for the names that one caller locks.
		"those of another caller": {rounds: []round{
			ends(identity(), identity(), identity()), waits(failed(), failed(), failed()),
		}, callers: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q, fakes := council(t, len(tt.rounds[0].votes))
			failures := new(quorum.PermanentFailures)
			for i, r := range tt.rounds {
				for i, f := range fakes {
					f.answers(r.votes[i])
				}
				if tt.callers {
					failures = new(quorum.PermanentFailures)
				}
				_, err := q.Acquire(t.Context(), ops{}, &terms, quorum.NoFirst, failures)
				require.ErrorIs(t, err, quorum.ErrNoQuorum)
				var permanent *quorum.PermanentError
				assert.Equal(t, r.permanent, errors.As(err, &permanent), "round %d", i)
			}
		})
	}
}

// A node that refuses SET may answer the release of the failed acquire.
func TestAnAnswerToAReleaseDoesNotEndAPermanentFailure(t *testing.T) {
	inCouncil(t, 5, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
		refused := &wire.Vote{Verdict: wire.Failed, Err: &node.IdentityError{Err: errDown}}
		var permanent *quorum.PermanentError
		failures := new(quorum.PermanentFailures)
		for round := range 2 {
			out := asking{first: quorum.NoFirst, failures: failures}.acquire(t, q)
			for i, f := range fakes {
				f.vote(t, "acquire", []*wire.Vote{failed(), failed(), refused, refused, refused}[i])
				synctest.Wait()
			}
			for _, f := range fakes {
				f.vote(t, "release", denied())
			}
			o := decided(t, out)
			require.ErrorIs(t, o.err, quorum.ErrNoQuorum)
			assert.Equal(t, round == 1, errors.As(o.err, &permanent), "round %d", round)
		}
	})
}
