package scenarios_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/scenarios"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testcert"
)

// acceptance is the shortest acceptance test, of masters at these URLs.
func acceptance(t *testing.T, urls []string) (scenarios.Scenario, scenarios.Options) {
	t.Helper()
	o := options(t)
	o.Backend, o.Masters = backend.Given, urls
	s := scenarios.Acceptance()
	s.Storm, s.Clients = scenarios.LeastStorm, 2
	return s, o
}

func TestTheAcceptanceTestLeavesMastersOfTheUserAsTheyWere(t *testing.T) {
	t.Parallel()
	all := redisproc.ForTest(t, 3)
	foreign := redis.NewClient(&redis.Options{Addr: all[1].Addr()})
	t.Cleanup(func() { assert.NoError(t, foreign.Close()) })
	ctx := t.Context()
	require.NoError(t, foreign.MSet(ctx, "orders:1", "theirs", "redlock:fence:{orders}", 7).Err())
	subscription := foreign.Subscribe(ctx, "redlock:orders:1")
	t.Cleanup(func() { assert.NoError(t, subscription.Close()) })
	_, err := subscription.Receive(ctx)
	require.NoError(t, err)
	held := foreign.Conn() // one connection, which would be another if it were killed
	t.Cleanup(func() { assert.NoError(t, held.Close()) })
	id := held.ClientID(ctx).Val()
	config := foreign.ConfigGet(ctx, "*").Val()

	s, o := acceptance(t, redisproc.URLs(all))
	out, err := scenarios.Play(ctx, s, o)
	require.NoError(t, err)
	assert.Empty(t, out.Wrong())
	assert.True(t, out.Good())

	assert.Equal(t, id, held.ClientID(ctx).Val(), "the foreign connection lives on")
	assert.Equal(t, config, foreign.ConfigGet(ctx, "*").Val())
	stats, err := foreign.Info(ctx, "commandstats").Result()
	require.NoError(t, err)
	for _, harmful := range []string{
		"flushall", "flushdb", "config|set", "shutdown", "client|kill", "replicaof", "script|flush", "debug",
	} {
		assert.NotContains(t, stats, "cmdstat_"+harmful+":")
	}
	assert.Equal(t, int64(1), foreign.Publish(ctx, "redlock:orders:1", "x").Val(), "the foreign subscription lives on")
	assert.Equal(t, "theirs", foreign.Get(ctx, "orders:1").Val())
	assert.Equal(t, "7", foreign.Get(ctx, "redlock:fence:{orders}").Val())
	for _, key := range foreign.Keys(ctx, "*"+backend.PrefixBegin+"*").Val() {
		assert.True(t, strings.HasPrefix(key, "redlock:fence:"), "only fencing counters stay, not %s", key)
		assert.Positive(t, foreign.PTTL(ctx, key).Val(), "%s ends by itself", key)
	}
}

func TestTheAcceptanceTestOfOneMasterWithTLSAndAPassword(t *testing.T) {
	t.Parallel()
	authority := testcert.New(t)
	cert, key, ca := authority.Files(authority.Valid())
	server := redisproc.ForTLSTest(t, 1, cert, key, ca, "--requirepass", "hunter2")[0]
	s, o := acceptance(t, []string{fmt.Sprintf("rediss://:hunter2@%s?skip_verify=true", server.TLSAddr())})
	out, err := scenarios.Play(t.Context(), s, o)
	require.NoError(t, err)
	assert.Empty(t, out.Wrong())
	require.NoError(t, filepath.WalkDir(o.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		assert.NotContains(t, string(text), "hunter2", path)
		return err
	}))
}

// The controls: the checks find residue of a run among foreign keys, and a lock that does not exclude.
func TestTheAcceptanceTestFindsWhatIsLeft(t *testing.T) {
	t.Parallel()
	all := redisproc.ForTest(t, 3)
	s, o := acceptance(t, redisproc.URLs(all))
	leaking := make(chan error, 1)
	go func() { leaking <- leak(t, all[2]) }()
	out, err := scenarios.Play(t.Context(), s, o)
	require.NoError(t, err)
	require.NoError(t, <-leaking)
	wrong := strings.Join(out.Wrong(), "\n")
	assert.Contains(t, wrong, "residue: master 2 still holds")
	assert.Contains(t, wrong, "forgotten")
	assert.Contains(t, wrong, "leaks: master 2 has 1 connections of clients")
	assert.NotContains(t, wrong, "exclusion")
}

func TestTheAcceptanceTestFindsALockThatDoesNotExclude(t *testing.T) {
	t.Parallel()
	s, o := acceptance(t, redisproc.URLs(redisproc.ForTest(t, 1)))
	s.Lock, s.Groups = "no token compared", traffic.Groups[1:3]
	out, err := scenarios.Play(t.Context(), s, o)
	require.NoError(t, err)
	assert.Contains(t, strings.Join(out.Wrong(), "\n"), "exclusion: ")
}

// leak puts a key under the mark of the run, once it locks, and a connection that is called by it and stays.
func leak(t *testing.T, s *redisproc.Server) error {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	for ctx.Err() == nil {
		for _, key := range c.Keys(ctx, backend.PrefixBegin+"*:kept").Val() {
			mark := strings.TrimSuffix(key, ":kept")
			u := url.URL{Scheme: "redis", Host: s.Addr(), RawQuery: url.Values{"client_name": {mark}}.Encode()}
			o, err := redis.ParseURL(u.String())
			if err != nil {
				return err
			}
			o.DisableIdentity, o.PoolSize = true, 1
			leaked := redis.NewClient(o)
			t.Cleanup(func() { _ = leaked.Close() })
			return leaked.Set(ctx, mark+":forgotten", "x", 0).Err()
		}
		time.Sleep(10 * time.Millisecond) // between two looks
	}
	return ctx.Err()
}
