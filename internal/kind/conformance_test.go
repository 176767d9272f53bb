package kind_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// The tests of this project use miniredis, in virtual time and on sockets. TestConformance compares it with a real
// server: every operation of a lock must do the same on all of them. Its steps have what the sequences of
// TestScriptsDoAsTheModelSaysOnARealServer do not reach: keys of other clients, odd names, bounds, keys that outlive
// their last entry, and rights.

const (
	lockName = "orders:42"
	lockTTL  = 30 * time.Second
)

// step is one operation on a key in a known state.
type step struct {
	given [][]any  // commands that make the state
	op    *wire.Op // the operation under test
	vote  wire.Vote
	// then checks the state afterwards; nil: the state must be unchanged.
	then func(t *testing.T, s *server)
	// said is how many messages the operation publishes on the name's channel.
	said int
	// refused is the error, if it fails.
	refused string
}

// steps are the operations of every kind.
func steps() map[string]step {
	all := ownSteps()
	for _, more := range []map[string]step{foreignSteps(), endedSteps(), oddSteps(), intentSteps(), boundSteps()} {
		maps.Copy(all, more)
	}
	return all
}

// server is a master under test, with a node and with a client that does not use the node.
type server struct {
	node   *wire.Node
	client *redis.Client
	master *simnet.Master // nil: it is not simulated
}

// place is a server on which the steps run.
type place struct {
	name string
	// mute means that a release cannot be published.
	mute bool
	// with calls f with an empty server. It is nil if the place needs a redis-server and there is none.
	with func(t *testing.T, f func(t *testing.T, s *server))
}

// on runs a test in each of the places. It skips a place that is not available, or fails the test if the environment
// requires the place.
func on(t *testing.T, places []place, test func(t *testing.T, p place)) {
	t.Helper()
	for _, p := range places {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			if p.with == nil {
				redisproc.Need(t)
			}
			require.NotNil(t, p.with)
			test(t, p)
		})
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	mute := real(t, "redis-server, PUBLISH forbidden", strings.ReplaceAll(rights, "+publish", ""))
	mute.mute = true
	on(t, []place{
		virtual(), onSockets(t), real(t, "redis-server", ""),
		real(t, "redis-server, nothing allowed that is not needed", rights), mute,
	}, func(t *testing.T, p place) {
		for name, st := range steps() {
			if p.mute {
				st.said = 0
			}
			t.Run(name, func(t *testing.T) { p.with(t, st.take) })
		}
	})
}

// take makes the state, runs the operation, and checks the vote and the state.
func (st step) take(t *testing.T, s *server) {
	for _, args := range st.given {
		s.do(t, args...)
	}
	before := s.snapshot(t)
	messages := s.listen(t)
	v := s.ask(t, st.op)
	if st.op.Name == "release" && st.vote.Verdict == wire.Granted && st.said > 0 {
		st.vote.Number = 2 // one subscriber received the message
	}
	st.judge(t, v)
	if st.then != nil {
		st.then(t, s)
	} else {
		assert.Equal(t, before, s.snapshot(t), "unharmed")
	}
	assert.Equal(t, st.said, messages(), "messages")
}

// judge compares the vote.
func (st step) judge(t *testing.T, v wire.Vote) {
	t.Helper()
	require.Equal(t, st.vote.Verdict, v.Verdict, "%v", v.Err)
	if st.refused != "" {
		assert.ErrorContains(t, v.Err, st.refused)
		return
	}
	require.NoError(t, v.Err)
	assert.NotEmpty(t, v.Server.RunID)
	assert.Equal(t, st.vote.Number, v.Number)
	assert.Equal(t, st.vote.Owned, v.Owned)
	assert.Equal(t, st.vote.Healed, v.Healed)
	switch want := st.vote.Data.(type) {
	case wantState:
		want.is(t, v)
	case wantBlocker:
		want.is(t, v)
	}
	if status, ok := v.Data.(wire.Status); ok {
		assert.Equal(t, "master", status.Role)
		assert.NotEmpty(t, status.Version)
	}
}

// listen counts the messages on the name's channel, until the returned function is called.
func (s *server) listen(t *testing.T) (messages func() int) {
	t.Helper()
	sub := s.client.Subscribe(t.Context(), kind.Channel(lockName))
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	for s.do(t, "pubsub", "numsub", kind.Channel(lockName)).([]any)[1] != int64(1) {
		time.Sleep(time.Millisecond) // the listener before is still leaving
	}
	return func() int {
		defer sub.Close()
		// There may be more than one: a server notices a moment later that the one before has gone.
		require.Positive(t, s.do(t, "publish", kind.Channel(lockName), "end"))
		for n := 0; ; n++ {
			msg, err := sub.ReceiveMessage(t.Context())
			require.NoError(t, err)
			if msg.Payload == "end" {
				return n
			}
			assert.Contains(t, []string{"", "2"}, msg.Payload, "a slot")
		}
	}
}

// open returns a server with a node and with a client, whose options it completes.
func open(t testing.TB, url string, o *redis.Options, opts ...node.Option) *server {
	t.Helper()
	of, err := node.Open(url, opts...)
	require.NoError(t, err)
	o.DisableIdentity, o.Protocol = true, 2
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	s := &server{node: wire.New(of), client: redis.NewClient(o)}
	var group errgroup.Group
	require.NoError(t, s.node.Bind(group.Go, func(error) {}))
	t.Cleanup(func() {
		assert.NoError(t, s.client.Close())
		s.node.Close(time.Now().Add(time.Second))
		assert.NoError(t, group.Wait())
	})
	return s
}

// virtual is miniredis in a bubble.
func virtual() place {
	return place{name: "virtual time", with: func(t *testing.T, f func(t *testing.T, s *server)) {
		synctest.Test(t, func(t *testing.T) {
			w := simnet.New(t, 1, 1)
			s := open(t, w.Master(0).URL(), &redis.Options{Addr: w.Addr(0), Dialer: w.Dial}, node.WithDialer(w.Dial))
			s.master = w.Master(0)
			f(t, s)
		})
	}}
}

// onSockets is miniredis behind a socket, as in package redlocktest and the command.
func onSockets(t *testing.T) place {
	t.Helper()
	m, err := embedded.Open("")
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return place{name: "embedded", with: func(t *testing.T, f func(t *testing.T, s *server)) {
		m.Wipe()
		f(t, open(t, m.URL(), &redis.Options{Addr: m.Addr()}))
	}}
}

// rights are the ACL rules for everything that a lock needs.
const rights = "~* &redlock:* +set +evalsha +eval +get +del +pexpire +pttl +type +zadd +zrem +zrange +zrangebyscore " +
	"+zremrangebyscore +zscore +pexpireat +time +publish +info"

// real is redis-server. If rights are given, the node's user has only these.
func real(t *testing.T, name, rights string) place {
	t.Helper()
	p := place{name: name}
	s, err := redisproc.Start(t.Context())
	if errors.Is(err, redisproc.ErrNotInstalled) {
		return p
	}
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	url := s.URL()
	if rights != "" {
		c := redis.NewClient(&redis.Options{Addr: s.Addr()})
		defer c.Close()
		args := []any{"acl", "setuser", "locker", "on", ">secret"}
		for _, r := range strings.Fields(rights) {
			args = append(args, r)
		}
		require.NoError(t, c.Do(context.Background(), args...).Err())
		url = "redis://locker:secret@" + s.Addr()
	}
	p.with = func(t *testing.T, f func(t *testing.T, s *server)) {
		s := open(t, url, &redis.Options{Addr: s.Addr()})
		s.do(t, "flushall")
		f(t, s)
	}
	return p
}
