package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/faults"
)

func TestAFlushedMasterForgetsWithoutARestart(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	s.set(c, "lock")
	s.eventually("it is old enough", func() bool { return s.uptime() >= time.Second })
	s.inject(faults.FlushAll)
	assert.Empty(t, s.keys())
	assert.GreaterOrEqual(t, s.uptime(), time.Second)
	require.NoError(t, c.Ping(t.Context()).Err(), "on the connection that it had")
}

func TestFlushedScriptsAreFoundByTheirTextAlone(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	s.set(c, "lock")
	script := redis.NewScript("return redis.call('get', KEYS[1])")
	require.NoError(t, script.Load(t.Context(), c).Err())
	require.NoError(t, script.EvalSha(t.Context(), c, []string{"lock"}).Err())
	s.inject(faults.FlushScripts)
	require.ErrorContains(t, script.EvalSha(t.Context(), c, []string{"lock"}).Err(), "NOSCRIPT")
	require.NoError(t, script.Eval(t.Context(), c, []string{"lock"}).Err())
}

func TestKilledConnectionsBreakAndNewOnesWork(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	waiting := make(chan error, 1)
	go func() { waiting <- c.BLPop(t.Context(), soon, "never").Err() }()
	subscription := c.Subscribe(t.Context(), "released")
	t.Cleanup(func() { assert.NoError(t, subscription.Close()) })
	_, err := subscription.Receive(t.Context())
	require.NoError(t, err)
	blocked := func() bool {
		info, err := s.inspector.Do(t.Context(), 0, "INFO", "clients")
		return err == nil && strings.Contains(info.(string), "blocked_clients:1")
	}
	s.eventually("a client waits", blocked)
	s.inject(faults.KillConnections)
	require.Error(t, <-waiting)
	_, err = subscription.ReceiveTimeout(t.Context(), soon)
	require.Error(t, err, "a subscription breaks too")
	require.NoError(t, s.client().Ping(t.Context()).Err())
}

func TestAMasterOutOfMemoryRefusesWritesAndStillDeletes(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	s.set(c, "lock")
	s.inject(faults.OutOfMemory)
	require.ErrorContains(t, c.Set(t.Context(), "another", "1", time.Hour).Err(), "OOM")
	assert.Equal(t, []string{"lock"}, s.keys())
	require.NoError(t, c.Del(t.Context(), "lock").Err())
	s.heal(faults.OutOfMemory)
	s.set(c, "another")
}

func TestLocksAreEvicted(t *testing.T) {
	t.Parallel()
	s, c := oneMaster(t)
	for _, k := range []string{"lock:1", "lock:2", "lock:3"} {
		s.set(c, k)
	}
	s.inject(faults.EvictLocks)
	assert.Empty(t, s.keys())
	s.set(c, "lock:4")
	info, err := c.Info(t.Context(), "stats").Result()
	require.NoError(t, err)
	assert.Contains(t, info, "evicted_keys:3")
	limit, err := c.ConfigGet(t.Context(), "maxmemory*").Result()
	require.NoError(t, err)
	assert.Equal(t, "0", limit["maxmemory"])
	assert.Equal(t, "noeviction", limit["maxmemory-policy"])
}

func TestAMasterThatFollowedAnotherHasTheOthersLocks(t *testing.T) {
	t.Parallel()
	on(t, options{Masters: 3}, func(t *testing.T, s *site) {
		c := s.client()
		s.set(c, "own")
		_, err := s.masters.Do(t.Context(), 1, "SET", "other's", "1", "PX", "3600000")
		require.NoError(t, err)
		s.inject(faults.FollowMaster)
		require.ErrorContains(t, c.Set(t.Context(), "lock", "1", time.Hour).Err(), "READONLY")
		s.heal(faults.FollowMaster)
		assert.Equal(t, []string{"other's"}, s.keys())
	})
}

func TestAMajorityThatFollowsLeavesOneToBeFollowed(t *testing.T) {
	t.Parallel()
	s := open(t, backend.Processes, options{Masters: 3})
	_, err := s.masters.Do(t.Context(), 2, "SET", "lock", "1")
	require.NoError(t, err)
	step := s.only(faults.FollowMaster)
	step.Targets = []int{0, 1}
	require.NoError(t, s.nemesis.Inject(t.Context(), step))
	s.eventually("the last one's data is everywhere", func() bool { return len(s.keys()) == 1 })
	require.NoError(t, s.nemesis.Heal(t.Context(), step))
	assert.Equal(t, []string{"lock"}, s.keys())
}
