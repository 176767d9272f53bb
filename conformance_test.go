package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/node"
)

// The tests of this project rest on miniredis, in virtual time and on sockets. TestConformance holds that against a real
// server: every operation of a lock must do the same on all of them.

const (
	lockName  = "orders:42"
	lockToken = "host:1:cafe"
	lockTTL   = 30 * time.Second
)

// step is one operation on a key in a known state.
type step struct {
	given [][]any  // commands that make the state
	op    *node.Op // what is asked
	vote  node.Vote
	// then is what must be so afterwards; nil: as given.
	then func(t *testing.T, s *server)
	// said is how many messages the operation publishes on the name's channel.
	said int
}

func steps() map[string]step {
	ops := redlock.MutexOps(lockName, lockToken, lockTTL)
	mine := []any{"set", lockName, lockToken, "px", 5000}
	foreign := []any{"set", lockName, "another", "px", 5000}
	forever := []any{"set", lockName, "another"}
	flush := []any{"script", "flush"}
	mineForever := []any{"set", lockName, lockToken}
	granted, denied := node.Vote{Verdict: node.Granted}, node.Vote{Verdict: node.Denied}
	one := node.Vote{Verdict: node.Granted, Number: 1}
	held := func(t *testing.T, s *server) { s.holds(t, lockName, lockToken, lockTTL) }
	free := func(t *testing.T, s *server) { assert.Zero(t, s.do(t, "exists", lockName)) }

	all := map[string]step{
		"acquire: free":                  {op: ops.Acquire(), vote: granted, then: held},
		"acquire: another's":             {given: [][]any{foreign}, op: ops.Acquire(), vote: denied},
		"acquire: another's, for ever":   {given: [][]any{forever}, op: ops.Acquire(), vote: denied},
		"acquire: already its own":       {given: [][]any{mine}, op: ops.Acquire(), vote: denied},
		"acquire: an empty value":        {given: [][]any{{"set", lockName, ""}}, op: ops.Acquire(), vote: denied},
		"extend: its own":                {given: [][]any{mine}, op: ops.Extend(), vote: one, then: held},
		"extend: its own, for ever":      {given: [][]any{mineForever}, op: ops.Extend(), vote: one, then: held},
		"extend: missing":                {op: ops.Extend(), vote: node.Vote{Verdict: node.Denied, Healed: true}, then: held},
		"extend: another's":              {given: [][]any{foreign}, op: ops.Extend(), vote: denied},
		"extend: another's, for ever":    {given: [][]any{forever}, op: ops.Extend(), vote: denied},
		"release: its own":               {given: [][]any{mine}, op: ops.Release(true), vote: one, then: free, said: 1},
		"release: its own, silently":     {given: [][]any{mine}, op: ops.Release(false), vote: one, then: free},
		"release: its own, for ever":     {given: [][]any{mineForever}, op: ops.Release(true), vote: one, then: free, said: 1},
		"release: missing":               {op: ops.Release(true), vote: denied, then: free},
		"release: another's":             {given: [][]any{foreign}, op: ops.Release(true), vote: denied},
		"release: another's, silently":   {given: [][]any{foreign}, op: ops.Release(false), vote: denied},
		"inspect: free":                  {op: redlock.InspectOp(lockName), vote: seen("", "", 0), then: free},
		"inspect: a mutex":               {given: [][]any{mine}, op: redlock.InspectOp(lockName), vote: seen("mutex", lockToken, 5*time.Second)},
		"inspect: a mutex, for ever":     {given: [][]any{mineForever}, op: redlock.InspectOp(lockName), vote: seen("mutex", lockToken, -1)},
		"inspect: an empty value":        {given: [][]any{{"set", lockName, ""}}, op: redlock.InspectOp(lockName), vote: seen("mutex", "", -1)},
		"status":                         {op: node.StatusOp(), vote: granted},
		"extend: the script is unknown":  {given: [][]any{mine, flush}, op: ops.Extend(), vote: one, then: held},
		"extend: an empty value":         {given: [][]any{{"set", lockName, ""}}, op: ops.Extend(), vote: denied},
		"release: an empty value":        {given: [][]any{{"set", lockName, ""}}, op: ops.Release(true), vote: denied},
		"release: another's, for ever":   {given: [][]any{forever}, op: ops.Release(true), vote: denied},
		"release: the script is unknown": {given: [][]any{mine, flush}, op: ops.Release(true), vote: one, then: free, said: 1},
		"inspect: the script is unknown": {given: [][]any{mine, flush}, op: redlock.InspectOp(lockName), vote: seen("mutex", lockToken, 5*time.Second)},
	}
	// A key that is none of ours is somebody else's, whatever it is, and stays unharmed.
	for kind, given := range map[string][]any{
		"hash": {"hset", lockName, lockToken, "1"}, "list": {"rpush", lockName, lockToken}, "set": {"sadd", lockName, lockToken},
		"zset": {"zadd", lockName, "1", lockToken}, "stream": {"xadd", lockName, "1-1", lockToken, "1"},
	} {
		expiring := [][]any{given, {"pexpire", lockName, 5000}}
		all["acquire: a "+kind] = step{given: [][]any{given}, op: ops.Acquire(), vote: denied}
		all["extend: a "+kind] = step{given: expiring, op: ops.Extend(), vote: denied}
		all["release: a "+kind] = step{given: expiring, op: ops.Release(true), vote: denied}
		all["inspect: a "+kind] = step{given: [][]any{given}, op: redlock.InspectOp(lockName), vote: seen(kind, "", -1)}
		all["inspect: a "+kind+" that expires"] = step{given: expiring, op: redlock.InspectOp(lockName), vote: seen(kind, "", 5*time.Second)}
	}
	// Names are any bytes.
	for i, name := range []string{" ", "\x00", "\xff\xfe\r\n", "{a}b{c}", "käse 🧀", "*?[a-z]", strings.Repeat("x", 10_000)} {
		ops := redlock.MutexOps(name, lockToken, lockTTL)
		given := []any{"set", name, lockToken, "px", 5000}
		is := func(t *testing.T, s *server) { s.holds(t, name, lockToken, lockTTL) }
		all[fmt.Sprint("acquire: odd name ", i)] = step{op: ops.Acquire(), vote: granted, then: is}
		all[fmt.Sprint("extend: odd name ", i)] = step{given: [][]any{given}, op: ops.Extend(), vote: one, then: is}
		all[fmt.Sprint("release: odd name ", i)] = step{given: [][]any{given}, op: ops.Release(true), vote: one, then: func(t *testing.T, s *server) {
			assert.Zero(t, s.do(t, "exists", name))
		}}
		all[fmt.Sprint("inspect: odd name ", i)] = step{given: [][]any{given}, op: redlock.InspectOp(name), vote: seen("mutex", lockToken, 5*time.Second)}
	}
	return all
}

// seen is the vote of an inspection: granted if the name is free. A negative left is for ever.
func seen(kind, token string, left time.Duration) node.Vote {
	v := node.Vote{Verdict: node.Denied, Data: sighting{kind, token, left}}
	if kind == "" {
		v.Verdict = node.Granted
	}
	return v
}

type sighting struct {
	kind, token string
	left        time.Duration
}

// server is a master under test: a node for it, and a client beside the node.
type server struct {
	node   *node.Node
	client *redis.Client
	master *simnet.Master // nil: it is not simulated
}

// place is where the steps are taken.
type place struct {
	name string
	// mute: a release cannot be announced.
	mute bool
	// with calls f with a server that is empty. Nil: it needs a redis-server, and there is none.
	with func(t *testing.T, f func(t *testing.T, s *server))
}

// need skips the test, or fails it if so asked, where the place cannot be had.
func (p place) need(t *testing.T) {
	t.Helper()
	if p.with == nil {
		redisproc.Need(t)
		require.NotNil(t, p.with)
	}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	mute := real(t, "redis-server, PUBLISH forbidden", strings.ReplaceAll(rights, "+publish", ""))
	mute.mute = true
	for _, p := range []place{
		virtual(), onSockets(t), real(t, "redis-server", ""), real(t, "redis-server, nothing allowed that is not needed", rights), mute,
	} {
		t.Run(p.name, func(t *testing.T) {
			p.need(t)
			for name, st := range steps() {
				if p.mute {
					st.said = 0
				}
				t.Run(name, func(t *testing.T) { p.with(t, st.take) })
			}
			t.Run("a life", func(t *testing.T) { p.with(t, takeLife) })
		})
	}
}

// take makes the state, asks, and looks at what has become of it.
func (st step) take(t *testing.T, s *server) {
	for _, args := range st.given {
		s.do(t, args...)
	}
	before := s.snapshot(t)
	messages := s.listen(t)
	v := s.ask(t, st.op)
	require.Equal(t, st.vote.Verdict, v.Verdict, "%v", v.Err)
	require.NoError(t, v.Err)
	assert.Equal(t, st.vote.Number, v.Number)
	assert.Equal(t, st.vote.Healed, v.Healed)
	assert.NotEmpty(t, v.Server.RunID)
	if want, ok := st.vote.Data.(sighting); ok {
		kind, token, left, ok := redlock.Sighting(v)
		require.True(t, ok)
		assert.Equal(t, want.kind, kind)
		assert.Equal(t, want.token, token)
		if want.left < 0 {
			assert.Negative(t, left)
		} else {
			assertLeft(t, want.left, left)
		}
	}
	if status, ok := v.Data.(node.Status); ok {
		assert.Equal(t, "master", status.Role)
		assert.NotEmpty(t, status.Version)
	}
	if st.then != nil {
		st.then(t, s)
	} else {
		assert.Equal(t, before, s.snapshot(t), "unharmed")
	}
	assert.Equal(t, st.said, messages(), "messages")
}

// takeLife goes through a lock's life on one master.
func takeLife(t *testing.T, s *server) {
	const ttl = 200 * time.Millisecond
	a, b := redlock.MutexOps(lockName, "a", ttl), redlock.MutexOps(lockName, "b", ttl)
	granted := func(op *node.Op) bool { return s.ask(t, op).Verdict == node.Granted }
	require.True(t, granted(a.Acquire()))
	assert.False(t, granted(b.Acquire()))
	assert.False(t, granted(b.Extend()))
	assert.False(t, granted(b.Release(true)))
	for range 4 { // longer than a TTL
		time.Sleep(ttl / 3)
		require.True(t, granted(a.Extend()), "it was extended in time")
	}
	assert.True(t, granted(a.Release(true)))
	assert.False(t, granted(a.Release(true)), "there is nothing left to release")
	require.True(t, granted(b.Acquire()))
	time.Sleep(ttl + 50*time.Millisecond)
	assert.Zero(t, s.do(t, "exists", lockName), "it expired")
	require.True(t, granted(a.Acquire()))
	assert.False(t, granted(b.Release(true)), "it is another's by now")
	time.Sleep(ttl + 50*time.Millisecond)
	v := s.ask(t, b.Extend())
	assert.True(t, v.Healed)
	require.True(t, granted(b.Extend()), "healed, it counts from the next time on")
}

// do sends a command beside the node.
func (s *server) do(t *testing.T, args ...any) any {
	t.Helper()
	v, err := s.client.Do(t.Context(), args...).Result()
	if err != redis.Nil { //nolint:errorlint // the client returns it as it is
		require.NoError(t, err, "%v", args)
	}
	return v
}

// ask asks the node, and waits for its vote.
func (s *server) ask(t *testing.T, op *node.Op) node.Vote {
	t.Helper()
	now := time.Now()
	votes := make(ballot, 1)
	s.node.Submit(&node.Call{Op: op, Asked: now, Deadline: now.Add(10 * time.Second), Voter: votes})
	return <-votes
}

type ballot chan node.Vote

// Vote takes a vote.
func (b ballot) Vote(_ int, v node.Vote) { b <- v }

// holds asserts that a name is held with a token, for so long.
func (s *server) holds(t *testing.T, name, token string, ttl time.Duration) {
	t.Helper()
	assert.Equal(t, token, s.do(t, "get", name))
	ms, _ := s.do(t, "pttl", name).(int64)
	assertLeft(t, ttl, time.Duration(ms)*time.Millisecond)
}

// assertLeft allows for the time that a busy machine takes.
func assertLeft(t *testing.T, want, got time.Duration) {
	t.Helper()
	assert.LessOrEqual(t, got, want)
	if want > 0 {
		assert.Greater(t, got, want-4*time.Second)
	}
}

// snapshot is the name's key, with its TTL to be compared roughly.
func (s *server) snapshot(t *testing.T) string {
	t.Helper()
	var value any
	kind := s.do(t, "type", lockName)
	switch kind {
	case "string":
		value = s.do(t, "get", lockName)
	case "hash":
		value = s.do(t, "hgetall", lockName)
	case "list":
		value = s.do(t, "lrange", lockName, 0, -1)
	case "set":
		value = s.do(t, "smembers", lockName)
	case "zset":
		value = s.do(t, "zrange", lockName, 0, -1, "withscores")
	case "stream":
		value = s.do(t, "xlen", lockName)
	}
	ms, _ := s.do(t, "pttl", lockName).(int64)
	life := "for ever"
	switch {
	case ms == -2:
		life = "missing"
	case ms > 5000:
		life = "extended"
	case ms >= 0:
		life = "expires"
	}
	return fmt.Sprint(kind, " ", value, " ", life)
}

// listen counts the messages on the name's channel, until the returned function is called.
func (s *server) listen(t *testing.T) (messages func() int) {
	t.Helper()
	sub := s.client.Subscribe(t.Context(), redlock.Channel(lockName))
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	return func() int {
		defer sub.Close()
		// There may be more than one: a server notices a moment later that the one before has gone.
		require.Positive(t, s.do(t, "publish", redlock.Channel(lockName), "end"))
		for n := 0; ; n++ {
			msg, err := sub.ReceiveMessage(t.Context())
			require.NoError(t, err)
			if msg.Payload == "end" {
				return n
			}
			assert.Empty(t, msg.Payload)
		}
	}
}

// enter runs f with a node and a client; the client's options are completed.
func enter(t *testing.T, url string, o *redis.Options, f func(t *testing.T, s *server), opts ...node.Option) {
	t.Helper()
	n, err := node.Open(url, opts...)
	require.NoError(t, err)
	var group errgroup.Group
	require.NoError(t, n.Bind(group.Go, func(error) {}))
	defer func() {
		n.Close(time.Now().Add(time.Second))
		require.NoError(t, group.Wait())
	}()
	o.DisableIdentity, o.Protocol = true, 2
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	c := redis.NewClient(o)
	defer c.Close()
	f(t, &server{node: n, client: c})
}

// virtual is miniredis in a bubble.
func virtual() place {
	return place{name: "virtual time", with: func(t *testing.T, f func(t *testing.T, s *server)) {
		synctest.Test(t, func(t *testing.T) {
			w := simnet.New(t, 1, 1)
			enter(t, w.Master(0).URL(), &redis.Options{Addr: w.Addr(0), Dialer: w.Dial}, func(t *testing.T, s *server) {
				s.master = w.Master(0)
				f(t, s)
			}, node.WithDialer(w.Dial))
		})
	}}
}

// onSockets is miniredis behind a socket, as package redlocktest and the command have it.
func onSockets(t *testing.T) place {
	t.Helper()
	m, err := embedded.Open()
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return place{name: "embedded", with: func(t *testing.T, f func(t *testing.T, s *server)) {
		m.Wipe()
		enter(t, m.URL(), &redis.Options{Addr: m.Addr()}, f)
	}}
}

// rights is everything that a lock needs to be allowed, in the words of an ACL.
const rights = "~* &redlock:* +set +evalsha +eval +get +del +pexpire +pttl +type +publish +info"

// real is redis-server. With rights, the node is a user that has these only.
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
		enter(t, url, &redis.Options{Addr: s.Addr()}, func(t *testing.T, s *server) {
			s.do(t, "flushall")
			f(t, s)
		})
	}
	return p
}
