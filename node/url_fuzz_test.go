package node_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/node"
)

// FuzzOpen checks that Open neither panics nor shows a password before the @, or a query, for any URL.
func FuzzOpen(f *testing.F) {
	for _, url := range []string{
		"redis://10.0.0.1", "rediss://me:SECRET@10.0.0.1:6379/0?db=1", "unix://me:SECRET@/run/redis.sock?db=x",
		"http://SECRET@", "redis://%zz@",
		"redis://10.0.0.1?tpyo=1", "10.0.0.1:6379:SECRET@", "redis://[::1]:6379",
	} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		const secret = "q8Zk3vXw" // no part of what an error says
		url = strings.ReplaceAll(url, "SECRET", secret)
		_, err := node.Open(url)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "redlock: "))
			if scheme, rest, ok := strings.Cut(url, "://"); ok && strings.Trim(scheme, "redisunx") == "" {
				if at := strings.LastIndex(rest, "@"); at >= 0 && strings.Contains(
					rest[:at], secret,
				) && !strings.Contains(rest[at:], secret) {
					require.NotContains(t, err.Error(), secret)
				}
			}
		}
	})
}
