package faults_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisproc"
)

const (
	soon   = 30 * time.Second       // longer than anything here takes on a busy machine
	answer = 700 * time.Millisecond // how long a client waits for one that does not come
	poll   = 10 * time.Millisecond
)

// site is real masters with everything that can be done to them.
type site struct {
	t         *testing.T
	masters   *backend.Backend
	nemesis   *faults.Nemesis
	inspector backend.Inspector
}

// options are those of the masters of a test.
type options struct {
	Masters int
	loses   aof.Loss
}

var one = options{Masters: 1}

// oneMaster returns a site of one master, without a container, and a client of it.
func oneMaster(t *testing.T) (*site, *redis.Client) {
	t.Helper()
	s := open(t, backend.Processes, one)
	return s, s.client()
}

// on runs a test on both backends.
func on(t *testing.T, o options, test func(t *testing.T, s *site)) {
	t.Helper()
	for _, name := range backend.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t, name, o))
		})
	}
}

func open(t *testing.T, name string, o options) *site {
	t.Helper()
	if name == backend.Containers {
		redisbox.Need(t)
	} else {
		redisproc.Need(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*soon)
	defer cancel()
	b, err := backend.Open(ctx, name, o.Masters, o.loses)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	clients, err := backend.NewInspector(b.URLs, "")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, clients.Close()) })
	inspector, err := b.NewInspector()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, inspector.Close()) })
	return &site{t: t, masters: b, inspector: inspector, nemesis: &faults.Nemesis{
		Faults:  faults.Of(b, nil),
		Healthy: func(ctx context.Context, _ faults.Side, m int) error { return clients.Ping(ctx, m) },
		Log:     func(history.Event) {}, Say: func(string, ...any) {}, HealthTimeout: soon,
	}}
}

// only returns the step of one fault at master 0; a fault that is not to be had here ends the test.
func (s *site) only(fault string) faults.Step {
	s.t.Helper()
	i := slices.IndexFunc(s.nemesis.Faults, func(f *faults.Fault) bool { return f.Name == fault })
	require.GreaterOrEqual(s.t, i, 0, "there is no %s", fault)
	need.SkipIf(s.t, need.Docker, s.nemesis.Faults[i].Available)
	return faults.Step{Fault: fault, On: faults.Masters, Targets: []int{0}}
}

func (s *site) inject(fault string) {
	s.t.Helper()
	require.NoError(s.t, s.nemesis.Inject(s.t.Context(), s.only(fault)))
}

// heal ends a fault, and sees that a client which knows nothing of it is served.
func (s *site) heal(fault string) {
	s.t.Helper()
	require.NoError(s.t, s.nemesis.Heal(s.t.Context(), s.only(fault)))
	c := s.client()
	require.NoError(s.t, c.Set(s.t.Context(), "healed", fault, time.Minute).Err())
	require.NoError(s.t, c.Del(s.t.Context(), "healed").Err())
}

// client is one of master 0 that has a connection, and does not try again.
func (s *site) client() *redis.Client {
	s.t.Helper()
	o, err := redis.ParseURL(s.masters.URLs[0])
	require.NoError(s.t, err)
	o.MaxRetries, o.DialerRetries, o.DisableIdentity, o.Protocol = -1, 1, true, 2
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = soon, soon, soon
	c := redis.NewClient(o)
	s.t.Cleanup(func() { assert.NoError(s.t, c.Close()) })
	require.NoError(s.t, c.Ping(s.t.Context()).Err())
	return c
}

// set has the client set a key for an hour, which must work.
func (s *site) set(c *redis.Client, key string) {
	s.t.Helper()
	require.NoError(s.t, c.Set(s.t.Context(), key, "1", time.Hour).Err())
}

// keys returns what master 0 has, past all network faults.
func (s *site) keys() []string {
	s.t.Helper()
	keys, err := s.inspector.Keys(s.t.Context(), 0)
	require.NoError(s.t, err)
	names := []string{}
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return names
}

// left returns the TTL of a key at master 0.
func (s *site) left(key string) time.Duration {
	s.t.Helper()
	left, err := s.inspector[0].PTTL(s.t.Context(), key).Result()
	require.NoError(s.t, err)
	return left
}

// uptime returns for how long master 0 has been up.
func (s *site) uptime() time.Duration {
	s.t.Helper()
	seconds, err := strconv.Atoi(s.inspector[0].InfoMap(s.t.Context(), "server").Item("Server", "uptime_in_seconds"))
	require.NoError(s.t, err)
	return time.Duration(seconds) * time.Second
}

func (s *site) eventually(what string, condition func() bool) {
	s.t.Helper()
	require.Eventually(s.t, condition, soon, poll, what)
}
