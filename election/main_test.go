package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/election"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/node"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	name  = "scheduler"
	ttl   = 10 * time.Second       // the default
	delay = time.Millisecond       // from a host to a master, and back
	pace  = 250 * time.Millisecond // of an observer
)

// world is masters and candidates in virtual time.
type world struct{ *simnet.Net }

// inWorld is a parallel test in a bubble with n masters.
func inWorld(t *testing.T, n int, f func(t *testing.T, w world)) {
	t.Helper()
	t.Parallel()
	bubble(t, n, f)
}

// bubble runs f in a bubble with n masters.
func bubble(t *testing.T, n int, f func(t *testing.T, w world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		w := world{simnet.New(t, 1, n)}
		for _, m := range w.Masters() {
			m.Delay(delay, 0)
		}
		f(t, w)
	})
}

// locker returns a Locker on a host of its own, which is its owner.
func (w world) locker(t *testing.T, host string, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	h := w.Host(host)
	masters := make([]*node.Node, 0, len(w.Masters()))
	for _, u := range w.URLs() {
		m, err := node.Open(u, node.WithDialer(h.Dial), node.WithClock(h.Clock()))
		require.NoError(t, err)
		masters = append(masters, m)
	}
	l, err := redlock.New(masters, append(opts, redlock.WithClock(h.Clock()), redlock.WithOwner(host))...)
	require.NoError(t, err)
	t.Cleanup(func() {
		if h.Dead() {
			h.Drain()
		}
		h.Thaw()
		assert.NoError(t, l.Close())
	})
	return l
}

// candidate returns the election as a host of its own sees it.
func (w world) candidate(t *testing.T, host string, opts ...redlock.Option) *election.Election {
	t.Helper()
	return election.New(w.locker(t, host, opts...), name)
}

// campaign makes a candidate the leader. The name must be free.
func campaign(t *testing.T, e *election.Election) *election.Leadership {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	l, err := e.Campaign(ctx)
	require.NoError(t, err)
	return l
}

// observe observes in the background. stop ends it, and seen.
func observe(t *testing.T, e *election.Election) (seen <-chan election.Leader, stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan election.Leader, 100)
	go func() {
		defer close(out)
		for leader := range e.Observe(ctx) {
			out <- leader
		}
	}()
	return out, cancel
}

// each does something to every one of the masters.
func each(masters []*simnet.Master, change func(*simnet.Master)) {
	for _, m := range masters {
		change(m)
	}
}

// elected is a leadership, and when it began.
type elected struct {
	*election.Leadership
	at time.Time
}

// campaigning campaigns in the background, and returns once the candidate waits.
func campaigning(t *testing.T, e *election.Election) <-chan elected {
	t.Helper()
	out := make(chan elected, 1)
	ctx := t.Context()
	go func() {
		l, err := e.Campaign(ctx)
		assert.NoError(t, err)
		out <- elected{l, time.Now()}
	}()
	time.Sleep(time.Second)
	require.Empty(t, out, "it waits for the leader")
	return out
}
