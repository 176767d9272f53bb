package node_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/target"
	"github.com/redlock-go/redlock/node"
)

func TestANodeIsNamedByItsAddress(t *testing.T) {
	t.Parallel()
	for url, name := range map[string]string{
		"redis://10.0.0.1:6380":                          "10.0.0.1:6380",
		"redis://10.0.0.1":                               "10.0.0.1:6379",
		"redis://10.0.0.1/":                              "10.0.0.1:6379",
		"redis://10.0.0.1:6380/3":                        "10.0.0.1:6380",
		"redis://me:hunter2@redis.example.org:6380/0":    "redis.example.org:6380",
		"redis://:hunter2@redis.example.org":             "redis.example.org:6379",
		"rediss://me:hunter2@redis.example.org":          "redis.example.org:6379",
		"redis://[::1]:6380":                             "[::1]:6380",
		"redis://[2001:db8::1]":                          "[2001:db8::1]:6379",
		"redis://me:@10.0.0.1:1":                         "10.0.0.1:1",
		"redis://:@10.0.0.1:65535":                       "10.0.0.1:65535",
		"unix:///run/redis.sock":                         "/run/redis.sock",
		"unix://me:hunter2@/run/redis.sock?db=2":         "/run/redis.sock",
		"redis://10.0.0.1?client_name=me&read_timeout=2": "10.0.0.1:6379",
		"redis://10.0.0.1?max_retries=0":                 "10.0.0.1:6379",
		"redis://10.0.0.1?max_retries=-1":                "10.0.0.1:6379",
	} {
		n, err := node.Open(url)
		require.NoError(t, err, url)
		assert.Equal(t, name, n.Name(), url)
	}
}

func TestTheErrorOfABadURLExplainsTheFault(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                   "redis://",
		"10.0.0.1:6379":                      "redis://",
		"localhost:6379":                     "redis://",
		"localhost":                          "redis://",
		"http://10.0.0.1":                    `"http"`,
		"redis+tls://10.0.0.1":               `"redis+tls"`,
		"redis://":                           "no host",
		"redis://:6379":                      "no host",
		"redis:///0":                         "no host",
		"rediss://me@":                       "no host",
		"unix://":                            "path",
		"unix://run/redis.sock":              "unix:///",
		"redis://10.0.0.1#0":                 "%23",
		"redis://10.0.0.1:port":              "port",
		"redis://10.0.0.1:0":                 "port 0",
		"redis://10.0.0.1:65536":             "between 1 and 65535",
		"redis://10.0.0.1:99999":             "port 99999",
		"rediss://me:pw@[::1]:99999":         "port 99999",
		"redis://10.0.0.1:-1":                "port",
		"redis://me@10.0.0.1":                "a user without a password",
		"unix://me@/run/redis.sock":          "a user without a password",
		"redis://10.0.0.1:6379/-1":           "database -1",
		"redis://10.0.0.1?db=-1":             "database -1",
		"unix:///run/redis.sock?db=-3":       "database -3",
		"redis://10.0.0.1:6379/zero":         "database",
		"redis://10.0.0.1:6379/0/1":          "path",
		"redis://10.0.0.1?max_retries=3":     "max_retries",
		"redis://10.0.0.1?max_retries=1":     "max_retries=1",
		"redis://10.0.0.1?max_retries=maybe": "max_retries",
		"redis://10.0.0.1?tpyo=1":            `unknown query parameter "tpyo": `,
		"rediss://10.0.0.1?skip_verfy=true":  `unknown query parameter "skip_verfy": `,
		"redis://u:p@10.0.0.1?b=1&a=2":       `unknown query parameter "a, b": `,
		"redis://10.0.0.1?db=two":            "database",
		"redis://%zz":                        "redis://",
		"redis://10.0.0.1 ":                  "redis://",
		"redis://10.0.0.1\n":                 "redis://",
	} {
		n, err := node.Open(url)
		require.ErrorContains(t, err, want, url)
		assert.True(t, strings.HasPrefix(err.Error(), "redlock: "), err.Error())
		assert.Equal(t, strings.HasPrefix(want, "unknown query"), strings.Contains(err.Error(), "unknown query"), url)
		assert.Nil(t, n, url)
	}
}

// Users forget to escape the characters of a password, forget the scheme or the @, or misplace the password. Errors
// show a URL without user, password and query.
func TestNoErrorShowsAPassword(t *testing.T) {
	t.Parallel()
	open := func(url string) error {
		n, err := node.Open(url)
		text := fmt.Sprint(err)
		if err == nil {
			text = n.Name()
		}
		assert.NotContains(t, text, "ter2", url)
		assert.NotContains(t, text, "hun", url)
		return err
	}
	for _, url := range []string{
		"redis://user:hunter2@10.0.0.1:6379/0?tpyo=hunter2",
		"redis://user:hunter2@10.0.0.1?max_retries=3&client_name=hunter2",
		"http://user:hunter2@10.0.0.1?password=hunter2", "unix://user:hunter2@run/redis.sock?db=x&client_name=hunter2",
	} {
		err := open(url)
		require.ErrorContains(t, err, "xxxxx@", url)
		assert.ErrorContains(t, err, "?xxxxx", url)
	}
	for _, url := range []string{
		"redis://:hunter2", "redis://me:hunter2", "redis://me:hunter2:6379", "redis://me:hunter2/0",
		"unix://me:hunter2/run/redis.sock", "unix://:hunter2", "redis://10.0.0.1/%zz?password=hunter2",
		"rediss://:hunter2:10.0.0.1:6379", "redis://10.0.0.1:6379?password=hunter2", "me:hunter2", "redis:me:hunter2",
		"me:hunter2:10.0.0.1",
	} {
		require.Error(t, open(url), url)
	}
	for _, secret := range []string{
		"hunter2", "hun/ter2", "hunter2#", "#hunter2", "hun?ter2", "hun%ter2", "hun%zzter2", "hun ter2", "hun:ter2",
		"hun@ter2", "@hun/ter2", "hun[ter2", "hun]ter2", "hun\\ter2", "hun\nter2", "hun\x7fter2", "hun@/ter2", "hun?@ter2",
		"hun=1&ter2", "2/hunter?db=ter2",
	} {
		for _, pattern := range []string{
			"redis://:SECRET@10.0.0.1:6379", "redis://me:SECRET@10.0.0.1:6379/0", "rediss://me:SECRET@10.0.0.1:port",
			"redis://me:SECRET@10.0.0.1/zero", "redis://me:SECRET@10.0.0.1?max_retries=3",
			"redis://me:SECRET@10.0.0.1?tpyo=1", "redis://me:SECRET@", "http://me:SECRET@10.0.0.1",
			"me:SECRET@10.0.0.1:6379", ":SECRET@10.0.0.1:6379",
			"SECRET@10.0.0.1", "redis:me:SECRET@10.0.0.1", "redis:/me:SECRET@10.0.0.1", "redis:// me:SECRET@10.0.0.1",
			"unix://me:SECRET@run/redis.sock?db=x", "unix://me:SECRET@/?db=x", "10.0.0.1:6379:SECRET@",
			"redis//:SECRET@10.0.0.1", "redis://:SECRET%@10.0.0.1",
		} {
			_ = open(strings.ReplaceAll(pattern, "SECRET", secret))
		}
	}
}

func TestWrapTakesAClientAsItIs(t *testing.T) {
	t.Parallel()
	const off, addr = time.Duration(-1), "10.0.0.1:6379"
	failover := func() redis.UniversalClient {
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"10.0.0.1:26379"}})
	}
	for what, c := range map[string]struct {
		client redis.UniversalClient
		opts   []node.Option
		name   string
		err    string
	}{
		"no retries":         {client: redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}), name: addr},
		"retries by default": {client: redis.NewClient(&redis.Options{Addr: addr, Password: "hunter2"}), name: addr},
		"a read timeout off": {client: redis.NewClient(&redis.Options{Addr: addr, ReadTimeout: off}), name: addr},
		"a failover client":  {client: failover(), name: "sentinel"},
		"a name of its own":  {client: failover(), opts: []node.Option{node.WithName("m")}, name: "m"},
		"a cluster": {
			client: redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"10.0.0.1:1", "10.0.0.2:1"}}),
			name:   "10.0.0.1:1+10.0.0.2:1",
		},
		"a failover client of a cluster": {
			client: redis.NewFailoverClusterClient(&redis.FailoverOptions{
				MasterName: "m", SentinelAddrs: []string{"10.0.0.1:26379"},
			}),
			name: "cluster",
		},
		"a user without a password": {
			client: redis.NewClient(&redis.Options{Addr: addr, Username: "bob"}), err: "Username without a Password",
		},
		"a cluster's user without a password": {
			client: redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, Username: "bob"}),
			err:    "Username without a Password",
		},
		"a user with a password": {
			client: redis.NewClient(&redis.Options{Addr: addr, Username: "bob", Password: "hunter2"}), name: addr,
		},
		"a user with a credentials provider": {
			client: redis.NewClient(&redis.Options{
				Addr: addr, Username: "bob", CredentialsProviderContext: noCredentials,
			}),
			name: addr,
		},
		"a ring": {
			client: redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "10.0.0.1:1"}}), err: "*redis.Ring",
		},
		"nil":           {client: nil, err: "needs a client"},
		"a nil client":  {client: (*redis.Client)(nil), err: "needs a client"},
		"a nil cluster": {client: (*redis.ClusterClient)(nil), err: "needs a client"},
	} {
		t.Run(what, func(t *testing.T) {
			if c.err != "needs a client" {
				defer c.client.Close()
			}
			n, err := node.Wrap(c.client, c.opts...)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				assert.Nil(t, n)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.name, n.Name())
		})
	}
}

func TestTheZoneOfAURL(t *testing.T) {
	t.Parallel()
	for url, zone := range map[string]string{
		"redis://h:1":                              "",
		"redis://h:1?zone=":                        "",
		"redis://h:1?zone=eu-1a":                   "eu-1a",
		"rediss://me:p%40ss@h:1/3?db=3&zone=a%20b": "a b",
		"unix:///run/redis.sock?zone=here":         "here",
	} {
		n, err := node.Open(url)
		require.NoError(t, err, url)
		assert.Equal(t, zone, target.Of(n).Zone, url)
	}
	_, err := node.Open("redis://h:1?zone=a&zone=b")
	require.ErrorContains(t, err, "2 zones")
}

func TestInvalidOptions(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "10.0.0.1:6379", MaxRetries: -1})
	t.Cleanup(func() { assert.NoError(t, client.Close()) })
	const wrapped = "" // a client in place of a URL
	credentials, withTLS := node.WithCredentials(noCredentials), node.WithTLSConfig(&tls.Config{})
	for _, tt := range []struct {
		url    string
		option node.Option
		want   string
	}{
		{"redis://h", nil, "nil"},
		{wrapped, nil, "nil"},
		{"redis://h", node.WithClock(nil), "nil"},
		{wrapped, node.WithClock(nil), "nil"},
		{"redis://h", node.WithDialer(nil), "nil"},
		{wrapped, node.WithDialer(nil), "nil"},
		{"redis://h", node.WithCredentials(nil), "nil credentials"},
		{wrapped, node.WithCredentials(nil), "nil credentials"},
		{"redis://:secret@h", credentials, "master h:6379: WithCredentials"},
		{"redis://secret@h", credentials, "leave one of them out"},
		{wrapped, credentials, "CredentialsProviderContext"},
		{"rediss://h", node.WithTLSConfig(nil), "nil TLS configuration"},
		{"redis://h", node.WithTLSConfig(nil), "nil TLS configuration"},
		{"redis://u:secret@h", withTLS, "rediss://"},
		{"unix:///run/redis.sock", withTLS, "rediss://"},
		{wrapped, withTLS, "options of the client"},
	} {
		var err error
		if tt.url == wrapped {
			_, err = node.Wrap(client, tt.option)
		} else {
			_, err = node.Open(tt.url, tt.option)
		}
		require.ErrorContains(t, err, tt.want, tt.url)
		assert.True(t, strings.HasPrefix(err.Error(), "redlock: "), err.Error())
		assert.NotContains(t, err.Error(), "secret")
	}
}

func noCredentials(context.Context) (user, password string, err error) { return "", "", nil }
