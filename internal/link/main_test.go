package link_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/target"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// patient bounds an attempt to connect that succeeds at once on an idle machine.
const patient = 5 * time.Second

// opened returns the Master at a URL.
func opened(t *testing.T, url string, opts ...node.Option) *link.Master {
	t.Helper()
	n, err := node.Open(url, opts...)
	require.NoError(t, err)
	return made(t, n)
}

// wrapped returns the Master over a client.
func wrapped(t *testing.T, client redis.UniversalClient) *link.Master {
	t.Helper()
	n, err := node.Wrap(client)
	require.NoError(t, err)
	return made(t, n)
}

// client returns a client, which ends with the test.
func client(t *testing.T, o *redis.Options) *redis.Client {
	t.Helper()
	c := redis.NewClient(o)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func made(t *testing.T, n *node.Node) *link.Master {
	t.Helper()
	m := link.New(target.Of(n), func(link.Observation) {})
	t.Cleanup(m.Close)
	return m
}

// dial makes a link, which ends with the test.
func dial(t *testing.T, m *link.Master) link.Link {
	t.Helper()
	l, err := m.Open(t.Context(), patient)
	require.NoError(t, err)
	t.Cleanup(l.Close)
	return l
}

// refused returns why no link can be made; nil if one can.
func refused(t *testing.T, m *link.Master) error {
	t.Helper()
	l, err := m.Open(t.Context(), patient)
	if err == nil {
		l.Close()
	}
	return err
}

// send sends commands in one batch, and returns what became of them.
func send(l link.Link, commands ...[]any) (all []link.Reply) {
	for _, c := range commands {
		l.Put(resp.AppendCommand(nil, c))
	}
	_ = l.Flush()
	for len(all) < len(commands) {
		some, err := l.Receive()
		all = append(all, some...)
		for err != nil && len(all) < len(commands) {
			all = append(all, link.Reply{Result: link.InDoubt, Err: err})
		}
	}
	return all
}

// verified sends one command, after a PING if the state of the link asks for it.
func verified(t *testing.T, l link.Link, command ...any) link.Reply {
	t.Helper()
	if l.State() == link.Unverified {
		require.NoError(t, l.Verify())
		if r, _ := l.Receive(); r[0].Result != link.Answered || r[0].Err != nil {
			return link.Reply{Result: link.NotSent, Err: r[0].Err}
		}
	}
	return send(l, command)[0]
}

// inBubbleWrapped runs f in a bubble with a simulated master, and a client of it.
func inBubbleWrapped(
	t *testing.T, adjust func(*redis.Options), f func(t *testing.T, m *simnet.Master, c *redis.Client),
) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := simnet.New(t, 1, 1)
		f(t, w.Master(0), testnet.Client(t, w.Addr(0), w.Dial, adjust))
	})
}
