package link_test

import (
	"context"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testcert"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

// A Connection executes commands and subscribes, over one network connection that ends with the node.
func TestAConnectionOfItsOwn(t *testing.T) {
	t.Parallel()
	testmain.Each(t, map[string]func(t *testing.T) (url string){
		"a server": func(t *testing.T) string { t.Helper(); return redisproc.ForTest(t, 1)[0].URL() },
		"a server in this process": func(t *testing.T) string {
			t.Helper()
			m, err := embedded.Open("")
			require.NoError(t, err)
			t.Cleanup(m.Close)
			return m.URL()
		},
	}, func(t *testing.T, start func(t *testing.T) string) {
		url, ctx := start(t), t.Context()
		over := func(protocol int) *link.Master {
			options, err := redis.ParseURL(url)
			require.NoError(t, err)
			options.MaxRetries, options.Protocol = -1, protocol
			return wrapped(t, client(t, options))
		}
		node, end := context.WithCancel(ctx)
		open := opened(t, url)
		for _, m := range []*link.Master{open, over(2), over(3)} {
			c := m.Connect(node)
			assert.Empty(t, c.Remote(), "the first command dials")
			_, err := c.Do(ctx, "client", "setname", "me")
			require.NoError(t, err)
			called, err := c.Do(ctx, "client", "getname")
			require.NoError(t, err)
			assert.Equal(t, "me", called, "one connection")
			missing, err := c.Do(ctx, "get", "x")
			require.NoError(t, err)
			assert.Nil(t, missing)
			answers := c.DoAll(ctx, [][]any{
				{"ping"}, {"incr"}, {"get", "x"}, {"echo", "x"}, {"hset", "h", "a", "b"}, {"hgetall", "h"},
			})
			assert.Equal(t, link.Answer{Reply: "PONG"}, answers[0])
			assert.True(t, replyerr.Is(answers[1].Err), "%v", answers[1].Err)
			assert.Equal(t, link.Answer{}, answers[2])
			assert.Equal(t, link.Answer{Reply: "x"}, answers[3])
			assert.Equal(t, link.Answer{Reply: []any{"a", "b"}}, answers[5], "in protocol 3 it is a map")
			if m == open {
				assert.Equal(t, "127.0.0.1", c.Remote())
			} else {
				assert.Empty(t, c.Remote())
			}
			c.Close()
			_, err = c.Do(ctx, "ping")
			require.Error(t, err)
			assert.False(t, replyerr.Is(err))

			s := m.Connect(node)
			require.NoError(t, s.Subscribe(ctx, "redlock:x"))
			s.Close()
		}
		c := open.Connect(node)
		_, err := c.Do(ctx, "ping")
		require.NoError(t, err)
		end()
		require.Eventually(t, func() bool {
			_, err = c.Do(context.Background(), "ping")
			return err != nil
		}, 10*time.Second, time.Millisecond, "the connection ends with its context")
		assert.False(t, replyerr.Is(err))
		require.Error(t, open.Connect(node).Subscribe(context.Background(), "redlock:x"))
	})
}

// go-redis does not set a handshake's error on the commands of a pipeline.
func TestEveryAnswerHasTheErrorOfTheHandshake(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	m.RequireAuth("right")
	o := &redis.Options{Addr: m.Addr(), MaxRetries: -1, Protocol: 2, Password: "wrong"}
	c := wrapped(t, client(t, o)).Connect(t.Context())
	for _, answer := range c.DoAll(t.Context(), [][]any{{"ping"}, {"get", "x"}}) {
		assert.ErrorContains(t, answer.Err, "WRONGPASS")
	}
	c.Close()
}

// The wait for each reply is bounded, not the wait for all.
func TestAConnectionWaitsForEachReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := &testnet.Scripted{Answer: func([]string) (string, bool) {
			time.Sleep(2 * time.Second)
			return "+OK\r\n", false
		}}
		c := opened(t, "redis://10.9.9.9", node.WithDialer(srv.Dial)).Connect(t.Context())
		defer c.Close()
		for _, answer := range c.DoAll(t.Context(), [][]any{{"a"}, {"b"}, {"c"}}) {
			assert.Equal(t, link.Answer{Reply: "OK"}, answer)
		}
	})
}

func TestASubscriptionThatIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		s.Reply("NOPERM this user has no permissions to access the channel", "SUBSCRIBE")
		c := m.Connect(t.Context())
		defer c.Close()
		err := c.Subscribe(t.Context(), "a")
		require.ErrorContains(t, err, "NOPERM")
		assert.True(t, replyerr.Is(err))
	})
}

func TestABrokenConnectionOfItsOwnIsNotReplaced(t *testing.T) {
	inBubble(t, func(t *testing.T, s *simnet.Master, m *link.Master) {
		c := m.Connect(t.Context())
		defer c.Close()
		_, err := c.Do(t.Context(), "ping")
		require.NoError(t, err)
		s.Reset()
		for range 2 {
			_, err = c.Do(t.Context(), "ping")
			require.Error(t, err)
		}
		s.Refuse()
		refused := m.Connect(t.Context())
		defer refused.Close()
		_, err = refused.Do(t.Context(), "ping")
		require.ErrorIs(t, err, syscall.ECONNREFUSED)
	})
}

// said is a server that says something on every new connection, and ends it. It discards what the client sends.
func said(t *testing.T, text string) (addr string) {
	t.Helper()
	return testnet.Serve(t, func(c net.Conn) {
		defer c.Close()
		_, _ = io.WriteString(c, text)
		_ = c.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c)
	})
}

// refusal is why a connection to a URL is refused.
type refusal struct {
	url, want string // want is "" for a connection that works
	permanent bool
}

// check asserts that the errors of all kinds of connections have the server's own reason, and not the password.
func (r refusal) check(t *testing.T, opts ...node.Option) {
	t.Helper()
	t.Parallel()
	m := opened(t, r.url, opts...)
	conn := m.Connect(t.Context())
	defer conn.Close()
	_, examined := conn.Do(t.Context(), "ping")
	sub, unsubscribed := m.Subscribe(t.Context())
	if unsubscribed == nil {
		sub.Close()
	}
	for _, err := range []error{examined, unsubscribed, refused(t, m)} {
		if r.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, r.want)
		assert.Equal(t, r.permanent, node.Permanent(err), "%v", err)
		for _, never := range []string{"hunter2", "hun", "EOF", "context", "closed network"} {
			assert.NotContains(t, err.Error(), never)
		}
	}
}

// A server on this machine says why it refuses a connection.
func TestTheReasonOfARefusedConnection(t *testing.T) {
	t.Parallel()
	ca := testcert.New(t)
	cert, key, authority := ca.Files(ca.Valid())
	plain := redisproc.ForTLSTest(t, 1, cert, key, authority)[0]
	locked := redisproc.ForTest(t, 1, "--requirepass", "hunter2")[0]
	few := redisproc.ForTest(t, 1)[0]
	admin := client(t, &redis.Options{Addr: locked.Addr(), Password: "hunter2"})
	for _, rules := range []string{"noselect on >hunter2 ~* &* +@all -select", "nopass on nopass ~* &* +@all"} {
		args := []any{"ACL", "SETUSER"}
		for _, rule := range strings.Fields(rules) {
			args = append(args, rule)
		}
		require.NoError(t, admin.Do(t.Context(), args...).Err())
	}
	full := client(t, &redis.Options{Addr: few.Addr(), PoolSize: 1, MaxRetries: -1})
	require.NoError(t, full.ConfigSet(t.Context(), "maxclients", "1").Err())

	for name, r := range map[string]refusal{
		"well":                       {plain.URL(), "", false},
		"a user without a password":  {"redis://nopass:@" + locked.Addr(), "", false},
		"a needless password":        {"redis://:hunter2@" + plain.Addr(), "", false},
		"no password":                {locked.URL(), "NOAUTH", true},
		"a wrong password":           {"redis://:hunter22@" + locked.Addr(), "WRONGPASS", true},
		"a wrong user":               {"redis://hunter22:hunter2@" + locked.Addr(), "WRONGPASS", true},
		"an empty password":          {"redis://noselect:@" + locked.Addr(), "WRONGPASS", true},
		"no such database":           {plain.URL() + "/99", "out of range", true},
		"no right to SELECT":         {"redis://noselect:hunter2@" + locked.Addr() + "/1", "NOPERM", true},
		"too many clients":           {few.URL(), "max number of clients", false},
		"too many clients, and AUTH": {"redis://:hunter2@" + few.Addr() + "/1", "max number of clients", false},
		// The server says nothing until a newline.
		"TLS to a plain port":       {"rediss://" + locked.Addr(), "TLS", false},
		"a plain URL to a TLS port": {"redis://" + plain.TLSAddr(), "for TLS", false},
		"a plain URL, and AUTH":     {"redis://:hunter2@" + plain.TLSAddr(), "for TLS", false},
	} {
		t.Run(name, func(t *testing.T) {
			var opts []node.Option
			if strings.HasPrefix(r.url, "rediss") {
				opts = append(opts, node.WithTLSConfig(ca.Trusting()))
			}
			r.check(t, opts...)
		})
	}
}

// What a server says in place of a reply is the reason, too.
func TestWhatAServerSaidIsTheReason(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]refusal{
		"protected mode": {
			"redis://" + said(t, "-DENIED Redis is running in protected mode because ...\r\n"), "protected mode", true,
		},
		"protected mode, and a client's name": {
			"redis://" + said(t, "-DENIED Redis is running in protected mode ...\r\n") + "?client_name=me", "DENIED", true,
		},
		"TLS to a server that says so": {"rediss://" + said(t, "-DENIED no\r\n"), "does not use TLS", true},
		"loading": {
			"redis://" + said(t, "-LOADING Redis is loading the dataset in memory\r\n"), "LOADING", false,
		},
		"HTTP": {
			"redis://" + said(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "HTTP/1.1 400 Bad Request", true,
		},
		"SSH":                        {"redis://" + said(t, "SSH-2.0-OpenSSH_9.2p1\r\n"), "SSH-2.0-OpenSSH_9.2p1", true},
		"a server that asks for TLS": {"redis://" + said(t, "\x15\x03\x01\x00\x02\x02\x46"), "asks for TLS", true},
		"a word without an end":      {"redis://" + said(t, "SSH-2.0"), "SSH-2.0", true},
		"mail":                       {"redis://" + said(t, "220 mail.example.org\r\n"), "220 mail.example.org", true},
		"an echo":                    {"redis://me:hunter2@" + said(t, "hunter2 hunter2\r\n"), "xxxxx xxxxx", true},
		"an unknown AUTH": {
			"redis://me:hunter2@" + said(t, "-ERR unknown command 'AUTH', with args beginning with: 'me' 'hun\r\n"),
			"unknown command", true,
		},
		"an AUTH of one argument": {
			"redis://me:hunter2@" + said(t, "-ERR wrong number of arguments for 'auth' command hunter2\r\n"),
			"'auth'", true,
		},
		"no word": {"redis://" + said(t, ""), "without an answer", false},
	} {
		t.Run(name, func(t *testing.T) { r.check(t) })
	}
}
