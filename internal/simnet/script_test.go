package simnet_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
)

func TestScriptsAreKnownUntilTheyAreFlushed(t *testing.T) {
	withClient(t, func(t *testing.T, _ *simnet.Net, _ *simnet.Master, c *redis.Client) {
		const text = "redis.call('SET', KEYS[1], ARGV[1]); return {redis.call('GET', KEYS[1]), " +
			"redis.pcall('NONSENSE')['err'] ~= nil}"
		script := redis.NewScript(text)
		ctx := t.Context()
		require.ErrorContains(t, script.EvalSha(ctx, c, []string{"k"}, "v").Err(), "NOSCRIPT")
		for range 2 {
			reply, err := script.Run(ctx, c, []string{"k"}, "v").Result()
			require.NoError(t, err)
			assert.Equal(t, []any{"v", int64(1)}, reply)
		}
		assert.Equal(t, []bool{true}, script.Exists(ctx, c).Val())
		assert.ErrorContains(t, c.Eval(ctx, "x = 1", nil).Err(), "global variable")
		assert.ErrorContains(t, c.Eval(ctx, "return y", nil).Err(), "global variable")
		assert.ErrorContains(t, c.Eval(ctx, "return redis.call('INCR', 'k')", nil).Err(), "not an integer")
		require.NoError(t, c.ScriptFlush(ctx).Err())
		assert.Equal(t, []bool{false}, script.Exists(ctx, c).Val())
		assert.ErrorContains(t, script.EvalSha(ctx, c, []string{"k"}, "v").Err(), "NOSCRIPT")
		require.NoError(t, c.ScriptLoad(ctx, text).Err())
		assert.NoError(t, script.EvalSha(ctx, c, []string{"k"}, "v").Err())
	})
}

func TestInjectedErrors(t *testing.T) {
	withClient(t, func(t *testing.T, _ *simnet.Net, m *simnet.Master, c *redis.Client) {
		m.ReplyTimes(1, "LOADING Redis is loading the dataset in memory", "SET")
		require.EqualError(t, c.Set(t.Context(), "a", "x", 0).Err(), "LOADING Redis is loading the dataset in memory")
		require.NoError(t, c.Set(t.Context(), "a", "x", 0).Err())

		m.Reply("READONLY You can't write against a read only replica.", "SET", "DEL")
		m.Info("role", "slave")
		require.ErrorContains(t, c.Set(t.Context(), "a", "x", 0).Err(), "READONLY")
		require.NoError(t, c.Get(t.Context(), "a").Err())
		err := c.Eval(t.Context(), `return redis.call("DEL", KEYS[1])`, []string{"a"}).Err()
		require.Error(t, err)
		assert.Regexp(t, "^READONLY You can't", err.Error())
		assert.Contains(t, c.Info(t.Context()).Val(), "role:slave")
		m.Recover()
		require.NoError(t, c.Del(t.Context(), "a").Err())

		m.Reply("NOPERM this user has no permissions to run the 'publish' command", "PUBLISH")
		err = c.Eval(t.Context(), `redis.pcall("PUBLISH", "x", "y") return 7`, nil).Err()
		require.NoError(t, err)

		m.Heal()
		m.Info("run_id", "")
		assert.NotContains(t, c.Info(t.Context()).Val(), "run_id")
	})
}
