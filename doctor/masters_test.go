package doctor_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testcert"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestMastersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	servers := redisproc.ForTest(t, 3)
	require.NoError(t, servers[1].Freeze())
	report := examine(t, redisproc.URLs(servers))
	require.NoError(t, servers[1].Thaw())
	assert.Equal(t, servers[1].Addr(), one(t, report, "does not answer").Node)

	locker := open(t, []string{servers[0].URL(), "redis://127.0.0.1:1", "redis://user:s3cret@127.0.0.1:2"})
	report, err := examined(doctor.Examine(t.Context(), locker, doctor.WithSpan(span)))
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
	assert.ErrorContains(t, err, "1 of 3 masters could be examined")
	found := one(t, report, "does not answer")
	assert.Len(t, found.Nodes, 2)
	assert.NotContains(t, found.Why, "s3cret")
}

// The finding has the server's reason, and a fix for it.
func TestWhyAMasterDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ca := testcert.New(t)
	// secured returns the URL of a server with a certificate for a host, which wants one of its clients.
	secured := func(host string, valid time.Duration) string {
		cert, key, authority := ca.Files(ca.Certificate(host, time.Now().Add(valid)))
		server := redisproc.ForTLSTest(t, 1, cert, key, authority, "--tls-auth-clients", "yes")[0]
		return "rediss://" + server.TLSAddr()
	}
	secure := secured("127.0.0.1", time.Hour)
	locked := redisproc.ForTest(t, 1, "--requirepass", "right")[0]
	plain := redisproc.ForTest(t, 1)[0]
	unselected := redisproc.ForTest(t, 1, "--rename-command", "SELECT", "gone")[0]
	unauthorized := redisproc.ForTest(t, 1, "--rename-command", "AUTH", "gone")[0]
	full := redisproc.ForTest(t, 1, "--maxclients", "4")[0]
	occupy(t, full, 4)
	busy := redisproc.ForTest(t, 1, "--busy-reply-threshold", "1")[0]
	runForever(t, busy)
	other := testnet.Serve(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.2\r\n")
		_ = c.Close()
	})
	for url, c := range map[string]struct {
		why, fix string
		commands string // separated by semicolons; "": any
		trusting bool   // of the authority of the servers
	}{
		"redis://:wrong@" + locked.Addr():    {why: "WRONGPASS", fix: "put the right user and password into the URL"},
		"redis://app:secret@" + plain.Addr(): {why: "WRONGPASS", fix: "put the right user and password into the URL"},
		locked.URL():                         {why: "NOAUTH", fix: "put the user and the password into the URL"},
		plain.URL() + "/99":                  {why: "DB index is out of range", fix: "leave /N out of the URL"},
		unselected.URL() + "/1": {
			why: "ERR unknown command 'select'", fix: "remove the rename-command of SELECT from its redis.conf",
		},
		"redis://app:secret@" + unauthorized.Addr(): {
			why: "ERR unknown command 'auth'", fix: "remove the rename-command of AUTH from its redis.conf",
		},
		"rediss://" + plain.Addr():                    {why: "TLS", fix: "write redis:// instead of rediss://"},
		strings.Replace(secure, "rediss", "redis", 1): {fix: "write rediss:// instead of redis://"},
		secure:                              {why: "unknown authority", fix: "--tls-ca with the file"},
		secure + "?zone=a":                  {why: "certificate required", fix: "--tls-cert and --tls-key", trusting: true},
		secured("redis.example", time.Hour): {why: "SANs", fix: "--tls-server-name with a name", trusting: true},
		secured("127.0.0.2", time.Hour): {
			why: "is valid for 127.0.0.2", fix: "--tls-server-name with a name", trusting: true,
		},
		secured("127.0.0.1", -time.Hour): {why: "has expired", fix: "renew the certificate", trusting: true},
		"redis://" + other:               {why: "not a Redis server", fix: "correct host and port"},
		"redis://127.0.0.1:1":            {why: "connection refused", fix: "start it"},
		"redis://no-such-host.invalid":   {why: "no such host", fix: "correct the host"},
		user(t, plain, "other", rights) + "/1": {
			why: "run the 'select' command", commands: "ACL SETUSER other +select",
		},
		busy.URL(): {why: "BUSY", commands: "SCRIPT KILL; FUNCTION KILL"},
		full.URL() + "?zone=a": {
			why: "max number of clients reached", fix: "CONFIG SET maxclients to a larger value", commands: "CLIENT LIST",
		},
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			var options []redlock.Option
			if c.trusting {
				options = append(options, redlock.WithTLSConfig(ca.Trusting()))
			}
			report, err := examined(doctor.Examine(t.Context(), open(t, []string{url}, options...), doctor.WithSpan(span)))
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			found := one(t, report, "does not answer")
			fits(t, found)
			assert.Contains(t, found.Why, c.why)
			assert.Contains(t, found.Fix, c.fix)
			if c.commands != "" {
				assert.Equal(t, c.commands, strings.Join(found.Commands, "; "))
			}
			assert.NotContains(t, found.String(), "secret")
		})
	}
}

// runForever has the server run a script without an end.
func runForever(t *testing.T, s *redisproc.Server) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = io.WriteString(conn, "EVAL \"while true do end\" 0\r\n")
	require.NoError(t, err)
	c := connect(t, s)
	require.Eventually(t, func() bool {
		err := c.Ping(context.Background()).Err()
		return err != nil && strings.HasPrefix(err.Error(), "BUSY")
	}, patience, 10*time.Millisecond)
}

func TestOneServerTwice(t *testing.T) {
	t.Parallel()
	servers := redisproc.ForTest(t, 2)
	port := servers[0].Addr()[strings.LastIndex(servers[0].Addr(), ":"):]
	report := examine(t, append(redisproc.URLs(servers), "redis://localhost"+port))
	assert.Equal(t, servers[0].Addr()+", localhost"+port, one(t, report, "is the same server as another").Node)
}

func TestMastersOnOneHost(t *testing.T) {
	t.Parallel()
	const title = "shares a host"
	servers := redisproc.ForTest(t, 3)
	assert.Len(t, one(t, examine(t, redisproc.URLs(servers)), title).Nodes, 3)
	assert.Empty(t, titled(examine(t, redisproc.URLs(servers[:1])), title))

	// What only servers on other hosts can have is given: pairs of their address and ours, as each of the others sees it.
	judged := func(pairs ...string) doctor.Report {
		var all []doctor.Seen
		for _, p := range pairs {
			remote, local, _ := strings.Cut(p, "/")
			all = append(all, doctor.Seen{Name: p, Remote: remote, Local: local})
		}
		return doctor.Judge(0, all...)
	}
	apart := judged("10.0.0.1/10.0.0.1", "10.0.0.2/10.0.0.2", "10.0.0.3/127.0.0.1", "10.0.0.4/127.0.0.1", "/")
	assert.Empty(t, titled(apart, title))
	together := judged("10.0.0.1/10.9.0.1", "10.0.0.2/10.9.0.1", "10.0.0.3/10.9.0.3")
	assert.Contains(t, one(t, together, title).Why, "laddr 10.9.0.1")
}

// The zones come from URLs, and from INFO of servers that report their zone (Valkey, KeyDB).
func TestZones(t *testing.T) {
	t.Parallel()
	const majority, uneven = "a zone holds a majority", "the zones are uneven"
	servers := redisproc.ForTest(t, 7)
	in := func(zones ...string) doctor.Report {
		urls := redisproc.URLs(servers[:len(zones)])
		for i, z := range zones {
			urls[i] += "?zone=" + z
		}
		return examine(t, urls)
	}
	found := one(t, in("a", "b", "a"), majority)
	assert.Equal(t, servers[0].Addr()+", "+servers[2].Addr(), found.Node)
	assert.Contains(t, found.Why, "2 of 3 masters are in zone a")
	assert.Empty(t, titled(in("a", "b", "c"), majority))
	assert.Contains(t, one(t, in("a", "a", "a", "b", "b", "c", "d"), uneven).Why, "3 of 7 masters are in zone a")
	assert.Empty(t, titled(in("a", "a", "b", "b", "c", "c", "d"), uneven))

	for _, c := range []struct{ ofServers, ofURLs, title string }{
		{"aaabc", "", majority},
		{"aabbc", "", ""},
		{"aaabbcd", "", uneven},
		{"aaabb", "", majority}, // the worse finding
		{"aaabc", "de", ""},     // the zone of the URL comes before that of the server
		{"abcde", "cc", majority},
	} {
		var all []doctor.Seen
		for i, z := range strings.Split(c.ofServers, "") {
			all = append(all, doctor.Seen{Name: fmt.Sprint(i), Info: "availability_zone:" + z})
		}
		for i, z := range strings.Split(c.ofURLs, "") {
			all[i].Zone = z
		}
		report := doctor.Judge(0, all...)
		for _, title := range []string{majority, uneven} {
			assert.Equal(t, title == c.title, len(titled(report, title)) == 1, "%s: %+v", title, c)
		}
	}
}

// The master that a Sentinel watches, and the Sentinel itself.
func TestASentinel(t *testing.T) {
	t.Parallel()
	const title = "is watched by Sentinel"
	server := redisproc.ForTest(t, 1)[0]
	admin := connect(t, server)
	// By PUBSUB, by CLIENT LIST.
	urls := []string{server.URL(), user(t, server, "locker", "on >secret ~* &* +@all -pubsub")}
	for _, url := range urls {
		assert.Empty(t, titled(examine(t, []string{url}), title))
	}
	port, err := freeport.Reserve()
	require.NoError(t, err)
	t.Cleanup(port.Release)
	conf := filepath.Join(t.TempDir(), "sentinel.conf")
	text := fmt.Sprintf("port %d\nbind 127.0.0.1\nsentinel monitor m 127.0.0.1 %s 1\n",
		port.Number(), server.Addr()[strings.LastIndex(server.Addr(), ":")+1:])
	require.NoError(t, os.WriteFile(conf, []byte(text), 0o600))
	sentinel := exec.Command(redisproc.Binary, conf, "--sentinel")
	require.NoError(t, sentinel.Start())
	t.Cleanup(func() {
		_ = sentinel.Process.Kill()
		_ = sentinel.Wait()
	})
	require.Eventually(t, func() bool {
		n, err := admin.PubSubNumSub(t.Context(), "__sentinel__:hello").Result()
		return err == nil && n["__sentinel__:hello"] > 0
	}, patience, 10*time.Millisecond)
	for _, url := range urls {
		one(t, examine(t, []string{url}), title)
	}
	// The restart window of this TTL does not end meanwhile.
	report := examine(t, []string{fmt.Sprintf("redis://127.0.0.1:%d", port.Number())}, redlock.WithTTL(time.Minute))
	assert.ElementsMatch(t, []string{"is a Sentinel", "restarted a moment ago", "the drift of clocks is not examined"},
		titles(report), "%v", report)
}

func TestARoundTripNearTheNodeTimeout(t *testing.T) {
	t.Parallel()
	const title = "the round trip is near the node timeout"
	synctest.Test(t, func(t *testing.T) {
		locker, masters := redlocktest.StartLocker(t, 3, redlock.WithNodeTimeout(300*time.Millisecond))
		assert.Empty(t, titled(reportOn(t, locker, 10*span), title))
		masters[0].Slow(200 * time.Millisecond)
		assert.Len(t, one(t, reportOn(t, locker, 10*span), title).Nodes, 1)
	})
}

// A proxy that sends the requests of one connection to two servers in turn.
func TestAProxyThatMultiplexes(t *testing.T) {
	t.Parallel()
	servers := redisproc.ForTest(t, 2)
	proxy := testnet.Serve(t, func(client net.Conn) { multiplex(client, servers) })
	report := examineFor(t, 10*span, []string{"redis://" + proxy}) // enough samples on a busy machine
	assert.Contains(t, one(t, report, "a proxy answers").Why, "changed on one connection")
}

// multiplex forwards what the client sends to one server, and from the fourth sample on to the other. The client sends
// one request at a time.
func multiplex(client net.Conn, servers []*redisproc.Server) {
	defer client.Close()
	var backends []net.Conn
	for _, s := range servers {
		b, err := net.Dial("tcp", s.Addr())
		if err != nil {
			return
		}
		defer b.Close()
		backends = append(backends, b)
		go func() { _, _ = io.Copy(client, b) }()
	}
	samples := 0
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		samples += bytes.Count(buf[:n], []byte("\r\ntime\r\n"))
		if _, err := backends[min(samples/4, 1)].Write(buf[:n]); err != nil {
			return
		}
	}
}
