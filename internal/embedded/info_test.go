package embedded_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// info asks for sections of INFO and returns the fields by name.
func info(t *testing.T, c *redis.Client, sections ...string) map[string]string {
	t.Helper()
	text, err := c.Info(within(t, patience), sections...).Result()
	require.NoError(t, err)
	fields := map[string]string{}
	for line := range strings.SplitSeq(text, "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

func TestInfoIsWhatRedisWouldSay(t *testing.T) {
	t.Parallel()
	server := []string{
		"redis_version", "server_name", "redis_mode", "run_id", "tcp_port", "server_time_usec", "uptime_in_seconds",
		"uptime_in_days",
	}
	clients := []string{"connected_clients"}
	replication := []string{"role", "connected_slaves", "master_failover_state"}
	all := slices.Concat(server, clients, []string{"loading"}, replication)
	for name, tc := range map[string]struct{ ask, want []string }{
		"everything by default": {nil, all},
		"all":                   {[]string{"ALL"}, all},
		"one section":           {[]string{"server"}, server},
		"another":               {[]string{"Replication"}, replication},
		"several":               {[]string{"replication", "server"}, append(append([]string{}, server...), replication...)},
		"none that is known":    {[]string{"weather"}, nil},
	} {
		for _, protocol := range []int{2, 3} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := connect(t, open(t), func(o *redis.Options) { o.Protocol = protocol })
				var got []string
				for field := range info(t, c, tc.ask...) {
					got = append(got, field)
				}
				assert.ElementsMatch(t, tc.want, got)
			})
		}
	}
}

func TestInfoAndRoleReadLikeRedis(t *testing.T) {
	t.Parallel()
	c := connect(t, open(t))
	text, err := c.Eval(within(t, patience), `return redis.call("INFO", "server", "replication")`, nil).Text()
	require.NoError(t, err, "in a script, too")
	assert.Regexp(t, "^# Server\r\nredis_version:", text)
	assert.Regexp(t, "\r\n\r\n# Replication\r\nrole:master\r\n(.*\r\n)*$", text)
	got, err := c.Do(within(t, patience), "ROLE").Slice()
	require.NoError(t, err)
	assert.Equal(t, []any{"master", int64(0), []any{}}, got)
}
