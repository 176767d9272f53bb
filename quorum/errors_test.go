package quorum_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/wire"
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
	for length, want := range map[int]string{
		320: strings.Repeat("x", 320),
		321: strings.Repeat("x", 320) + "…",
	} {
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
	for _, f := range fakes {
		f.answers(&wire.Vote{Verdict: wire.Failed, Err: unread{t}})
	}
	result := extend(t, lease)
	err := result()
	require.ErrorIs(t, err, quorum.ErrNoQuorum)
	assert.ErrorIs(t, err, unread{t})
}
