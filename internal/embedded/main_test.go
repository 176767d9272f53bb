package embedded_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// patience is how long a test waits for what must happen.
const patience = 5 * time.Second

func open(t *testing.T) *embedded.Master {
	t.Helper()
	m, err := embedded.Open("")
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m
}

// connect returns a client that asks once and gives up after a while.
func connect(t *testing.T, m *embedded.Master, change ...func(*redis.Options)) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(m.URL())
	require.NoError(t, err)
	opts.MaxRetries = -1
	opts.DialerRetries = 1
	opts.ContextTimeoutEnabled = true
	opts.DisableIdentity = true
	for _, c := range change {
		c(opts)
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

var within = testmain.Within

// answers reports whether the master behind c answers in time.
func answers(t *testing.T, c *redis.Client, d time.Duration) bool {
	t.Helper()
	return c.Ping(within(t, d)).Err() == nil
}
