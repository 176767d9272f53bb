package quorum_test

import (
	"testing"
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
			for _, f := range fakes {
				f.answers(granted())
			}
			tt.do(t, q, &tt.terms)
			for op, want := range tt.want {
				require.Len(t, fakes[0].asked(op), 1)
				assert.Equal(t, want, fakes[0].asked(op)[0].Connect)
			}
		})
	}
}
