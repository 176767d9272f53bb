package kind_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// fenceLife is how long a counter outlives the last lock that used it.
const fenceLife = 24 * time.Hour

// in is a time, relative to now, among the arguments of a command.
type in time.Duration

// entries are the holds in a sorted set, with the time left of each. It is negative if the hold has ended.
type entries map[string]time.Duration

// counts asserts the value and the TTL of a name's fence.
func (s *server) counts(t *testing.T, name, want string, life time.Duration) {
	t.Helper()
	key := kind.FenceKey(name)
	text, err := s.client.Get(t.Context(), key).Result()
	require.NoError(t, err)
	assert.Equal(t, want, text, "the fence of %q", name)
	assertLeft(t, life, s.left(t, key))
}

func (e entries) made(key string) (commands [][]any) {
	for member, left := range e {
		commands = append(commands, []any{"zadd", key, in(left), member})
	}
	if len(e) > 0 {
		last := slices.Max(slices.Collect(maps.Values(e)))
		if last <= 0 { // they have ended, but the key still exists
			last = 5 * time.Second
		}
		commands = append(commands, []any{"pexpire", key, last.Milliseconds()})
	}
	return commands
}

// scores returns the entries of a sorted set, with when each expires.
func (s *server) scores(t *testing.T, key string) map[string]int64 {
	t.Helper()
	all, err := s.client.ZRangeWithScores(t.Context(), key, 0, -1).Result()
	require.NoError(t, err)
	scores := make(map[string]int64)
	for _, one := range all {
		scores[fmt.Sprint(one.Member)] = int64(one.Score)
	}
	return scores
}

// Votes as masters give them.
var (
	one    = wire.Vote{Verdict: wire.Granted, Number: 1}
	denied = wire.Vote{Verdict: wire.Denied}
	healed = wire.Vote{Verdict: wire.Denied, Healed: true}
	broken = wire.Vote{Verdict: wire.Failed}
)

func grant(n int64) wire.Vote { return wire.Vote{Verdict: wire.Granted, Number: n} }

// inspected returns the vote of an inspection that finds holders.
func inspected(want wantState) wire.Vote { return wire.Vote{Verdict: wire.Denied, Data: want} }

// wantState is the expected result of an inspection.
type wantState struct {
	kind  string
	fence int64
	holds entries // by token; negative: without a TTL
}

func (want wantState) is(t *testing.T, v wire.Vote) {
	t.Helper()
	held, fence, holds, ok := stateIn(v)
	require.True(t, ok)
	assert.Equal(t, want.kind, held)
	assert.Equal(t, want.fence, fence)
	require.ElementsMatch(t, slices.Collect(maps.Keys(want.holds)), slices.Collect(maps.Keys(holds)), "the holders")
	for token, left := range want.holds {
		assertLife(t, left, holds[token])
	}
}

// deniedBy returns a denial with its blocker.
func deniedBy(by wantBlocker) wire.Vote { return wire.Vote{Verdict: wire.Denied, Data: by} }

// wantBlocker is the expected blocker of a denial.
type wantBlocker struct {
	kind string
	name int           // the index of the name
	left time.Duration // negative: it has no TTL
	// token is the blocker's token. Only a probe returns it.
	token string
	// intent reports whether the probe left an intent.
	intent bool
	// slots and taken are what a semaphore reports of its slots.
	slots int
	taken string
}

func (want wantBlocker) is(t *testing.T, v wire.Vote) {
	t.Helper()
	b, ok := kind.BlockerOf(v)
	require.True(t, ok)
	assert.Equal(t, want.kind, b.Kind)
	assert.Equal(t, want.token, b.Token)
	assert.Equal(t, want.intent, b.Intent, "the intent was left")
	assert.Equal(t, want.name, b.NameIndex)
	assert.Equal(t, want.taken, b.Taken)
	if want.slots > 0 {
		assert.Equal(t, want.slots, b.Slots)
	}
	assertLife(t, want.left, b.TTL)
	assertLeft(t, max(0, want.left), v.Wait)
}

// do sends a command to the server without the node.
func (s *server) do(t *testing.T, args ...any) any {
	t.Helper()
	args = slices.Clone(args)
	for i, arg := range args {
		if d, ok := arg.(in); ok {
			args[i] = time.Now().Add(time.Duration(d)).UnixMilli()
		}
	}
	v, err := s.client.Do(t.Context(), args...).Result()
	if err != redis.Nil { //nolint:errorlint // the client returns it as it is
		require.NoError(t, err, "%v", args)
	}
	return v
}

// ask submits an operation to the node and waits for its vote.
func (s *server) ask(t *testing.T, op *wire.Op) wire.Vote {
	t.Helper()
	now := time.Now()
	votes := make(ballot, 1)
	request := &wire.Request{
		Op: op, Voter: votes, Asked: now, Connect: 20 * time.Second, Deadline: now.Add(40 * time.Second),
	}
	s.node.Submit(&wire.Call{Request: request})
	return <-votes
}

type ballot chan wire.Vote

// Vote receives a vote.
func (b ballot) Vote(_ int, v wire.Vote) { b <- v }

// left returns a key's TTL: negative if it has none.
func (s *server) left(t *testing.T, key string) time.Duration {
	t.Helper()
	ms, _ := s.do(t, "pttl", key).(int64)
	return time.Duration(ms) * time.Millisecond
}

// assertLeft allows for the time that a busy machine takes.
func assertLeft(t *testing.T, want, got time.Duration) {
	t.Helper()
	assert.LessOrEqual(t, got, want)
	slack := 4 * time.Second
	if want > time.Hour {
		slack = 20 * time.Second // less than a TTL, which a fence outlives by a day
	}
	if want > 0 {
		assert.Greater(t, got, want-slack)
	}
}

// assertLife is assertLeft for a life that is negative if there is no TTL.
func assertLife(t *testing.T, want, got time.Duration) {
	t.Helper()
	if want < 0 {
		assert.Negative(t, got, "without a TTL")
	} else {
		assertLeft(t, want, got)
	}
}

// snapshot returns every key with its rounded TTL.
func (s *server) snapshot(t *testing.T) string {
	t.Helper()
	keys, err := s.client.Keys(t.Context(), "*").Result()
	require.NoError(t, err)
	slices.Sort(keys)
	var all strings.Builder
	for _, key := range keys {
		fmt.Fprintln(&all, s.look(t, key))
	}
	return all.String()
}

func (s *server) look(t *testing.T, key string) string {
	t.Helper()
	var value any
	k := s.do(t, "type", key)
	switch k {
	case "string":
		value = s.do(t, "get", key)
	case "hash":
		value = s.do(t, "hgetall", key)
	case "list":
		value = s.do(t, "lrange", key, 0, -1)
	case "set":
		value = s.do(t, "smembers", key)
	case "zset":
		value = s.do(t, "zrange", key, 0, -1, "withscores")
	case "stream":
		value = s.do(t, "xrange", key, "-", "+")
	}
	life := "without a TTL"
	switch left := s.left(t, key); {
	case left > 5*time.Second:
		life = "extended"
	case left >= 0:
		life = "expires"
	}
	return fmt.Sprintf("%q %s %v %s", key, k, value, life)
}
