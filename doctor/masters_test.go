package doctor_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/doctor"
	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testcert"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

func TestAMasterThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	const title = "does not answer"
	servers := redisproc.ForTest(t, 3)
	require.NoError(t, servers[1].Freeze())
	report := examine(t, redisproc.URLs(servers))
	require.NoError(t, servers[1].Thaw())
	found := titled(report, title)
	require.Len(t, found, 1)
	assert.Equal(t, servers[1].Addr(), found[0].Node)
	assert.Equal(t, doctor.Danger, found[0].Severity)
	assert.Empty(t, titled(examine(t, redisproc.URLs(servers)), title))
}

// The finding has the server's reason, and a fix for it.
func TestWhyAMasterDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ca := testcert.New(t)
	cert, key, authority := ca.Files(ca.Valid())
	secure := redisproc.ForTLSTest(t, 1, cert, key, authority)[0]
	locked := redisproc.ForTest(t, 1, "--requirepass", "right")[0]
	plain := redisproc.ForTest(t, 1)[0]
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
		commands []string
	}{
		"redis://:wrong@" + locked.Addr():    {why: "WRONGPASS", fix: "put the right user and password into the URL"},
		"redis://app:secret@" + plain.Addr(): {why: "WRONGPASS", fix: "put the right user and password into the URL"},
		locked.URL():                         {why: "NOAUTH", fix: "put the user and the password into the URL"},
		plain.URL() + "/99":                  {why: "DB index is out of range", fix: "leave /N out of the URL"},
		"rediss://" + plain.Addr():           {why: "TLS", fix: "write redis:// instead of rediss://"},
		"redis://" + secure.TLSAddr():        {fix: "write rediss:// instead of redis://"},
		"rediss://" + secure.TLSAddr():       {why: "certificate", fix: "--tls-ca"},
		"redis://" + other:                   {why: "not a Redis server", fix: "correct host and port"},
		"redis://127.0.0.1:1":                {why: "connection refused", fix: "start it"},
		"redis://no-such-host.invalid":       {why: "no such host", fix: "correct the host"},
		user(t, plain, "other", rights) + "/1": {
			why: "run the 'select' command", commands: []string{"ACL SETUSER other +select"},
		},
		busy.URL(): {why: "BUSY", commands: []string{"SCRIPT KILL", "FUNCTION KILL"}},
		full.URL() + "?zone=a": {
			why:      "max number of clients reached",
			commands: []string{"CONFIG SET maxclients 10000", "CONFIG REWRITE", "CLIENT LIST"},
		},
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			report, err := examined(doctor.Examine(t.Context(), open(t, []string{url}), doctor.WithSpan(span)))
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			found := titled(report, "does not answer")
			require.Len(t, found, 1, "%v", report)
			fits(t, found[0])
			assert.Contains(t, found[0].Why, c.why)
			assert.Contains(t, found[0].Fix, c.fix)
			if c.commands != nil {
				assert.Equal(t, c.commands, found[0].Commands)
			}
			assert.NotContains(t, found[0].String(), "secret")
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

// Each certificate that does not fit has a fix of its own.
func TestCertificates(t *testing.T) {
	t.Parallel()
	ca := testcert.New(t)
	for name, c := range map[string]struct {
		certificate tls.Certificate
		config      *tls.Config
		why, fix    string
	}{
		"of another authority": {ca.Valid(), &tls.Config{}, "unknown authority", "--tls-ca with the file"},
		"of another host": {
			ca.Certificate("redis.example", time.Now().Add(time.Hour)), ca.Trusting(), "SANs",
			"--tls-server-name with a name",
		},
		"of another address": {
			ca.Certificate("127.0.0.2", time.Now().Add(time.Hour)), ca.Trusting(), "is valid for 127.0.0.2",
			"--tls-server-name with a name",
		},
		"expired": {
			ca.Certificate("127.0.0.1", time.Now().Add(-time.Hour)), ca.Trusting(), "has expired", "renew the certificate",
		},
		"none of the client": {ca.Valid(), ca.Trusting(), "certificate required", "--tls-cert and --tls-key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cert, key, authority := ca.Files(c.certificate)
			server := redisproc.ForTLSTest(t, 1, cert, key, authority)[0]
			require.NoError(t, connect(t, server).ConfigSet(t.Context(), "tls-auth-clients", "yes").Err())
			locker := open(t, []string{"rediss://" + server.TLSAddr()}, redlock.WithTLSConfig(c.config))
			report, err := examined(doctor.Examine(t.Context(), locker, doctor.WithSpan(span)))
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			found := titled(report, "does not answer")
			require.Len(t, found, 1, "%v", report)
			fits(t, found[0])
			assert.Contains(t, found[0].Why, c.why)
			assert.Contains(t, found[0].Fix, c.fix)
		})
	}
}

func TestOneServerTwice(t *testing.T) {
	t.Parallel()
	const title = "is the same server as another"
	servers := redisproc.ForTest(t, 2)
	port := servers[0].Addr()[strings.LastIndex(servers[0].Addr(), ":"):]
	report := examine(t, append(redisproc.URLs(servers), "redis://localhost"+port))
	found := titled(report, title)
	require.Len(t, found, 1)
	assert.Equal(t, servers[0].Addr()+", localhost"+port, found[0].Node)
	assert.Empty(t, titled(examine(t, redisproc.URLs(redisproc.ForTest(t, 3))), title))
}

func TestMastersOnOneHost(t *testing.T) {
	t.Parallel()
	const title = "shares a host"
	servers := redisproc.ForTest(t, 3)
	found := titled(examine(t, redisproc.URLs(servers)), title)
	require.Len(t, found, 1)
	assert.Len(t, found[0].Nodes, 3)
	assert.Empty(t, titled(examine(t, redisproc.URLs(servers[:1])), title))

	// What only servers on other hosts can have is given.
	seen := func(remote, local string) doctor.Seen {
		return doctor.Seen{Name: remote + "/" + local, Remote: remote, Local: local}
	}
	assert.Empty(t, titled(judge(0, seen("10.0.0.1", "10.0.0.1"), seen("10.0.0.2", "10.0.0.2"), seen(
		"10.0.0.3", "127.0.0.1",
	),
		seen("10.0.0.4", "127.0.0.1"), seen("", "")), title))
	found = titled(
		judge(0, seen("10.0.0.1", "10.9.0.1"), seen("10.0.0.2", "10.9.0.1"), seen("10.0.0.3", "10.9.0.3")), title,
	)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Why, "laddr 10.9.0.1")
}

// The addresses in the zone rules come from URLs, and from INFO of servers that report their zone (Valkey, KeyDB).
func TestZones(t *testing.T) {
	t.Parallel()
	const majority, uneven = "a zone holds a majority", "the zones are uneven"
	servers := redisproc.ForTest(t, 3)
	in := func(zones ...string) []string {
		urls := redisproc.URLs(servers)
		for i, z := range zones {
			urls[i] += "?zone=" + z
		}
		return urls
	}
	found := titled(examine(t, in("a", "b", "a")), majority)
	require.Len(t, found, 1)
	assert.Equal(t, servers[0].Addr()+", "+servers[2].Addr(), found[0].Node)
	assert.Contains(t, found[0].Why, "2 of 3 masters are in zone a")
	assert.Empty(t, titled(examine(t, in("a", "b", "c")), majority))

	five := func(zones string) (all []doctor.Seen) {
		for i, z := range strings.Split(zones, "") {
			all = append(all, doctor.Seen{Name: fmt.Sprint(i), Info: "availability_zone:" + z})
		}
		return all
	}
	assert.Len(t, titled(judge(0, five("aaabc")...), majority), 1)
	assert.Empty(t, titled(judge(0, five("aabbc")...), majority))
	assert.Empty(t, titled(judge(0, five("aabbc")...), uneven))
	assert.Len(t, titled(judge(0, five("aaabbcd")...), uneven), 1)
	servers = append(servers, redisproc.ForTest(t, 4)...)
	found = titled(examine(t, in("a", "a", "a", "b", "b", "c", "d")), uneven)
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Why, "3 of 7 masters are in zone a")
	assert.Empty(t, titled(examine(t, in("a", "a", "b", "b", "c", "c", "d")), uneven))
	assert.Empty(t, titled(judge(0, five("aaabbc")[:5]...), uneven), "a majority is the worse finding")
	given := five("aaabc")
	given[0].Zone, given[1].Zone = "d", "e"
	assert.Empty(t, titled(judge(0, given...), majority), "the zone of the URL comes before that of the server")
	given = five("abcde")
	given[0].Zone, given[1].Zone = "c", "c"
	assert.Len(t, titled(judge(0, given...), majority), 1)
}

func TestASentinel(t *testing.T) {
	t.Parallel()
	const title = "is watched by Sentinel"
	server := redisproc.ForTest(t, 1)[0]
	admin := connect(t, server)
	require.NoError(
		t, admin.Do(t.Context(), "acl", "setuser", "locker", "on", ">secret", "~*", "&*", "+@all", "-pubsub").Err(),
	)
	urls := []string{"redis://" + server.Addr(), "redis://locker:secret@" + server.Addr()} // by PUBSUB, by CLIENT LIST
	for _, url := range urls {
		assert.Empty(t, titled(examine(t, []string{url}), title))
	}
	port, err := freeport.Reserve()
	require.NoError(t, err)
	t.Cleanup(port.Release)
	startSentinel(t, port.Number(), fmt.Sprintf("sentinel monitor m 127.0.0.1 %s 1\n",
		server.Addr()[strings.LastIndex(server.Addr(), ":")+1:]))
	require.Eventually(t, func() bool {
		n, err := admin.PubSubNumSub(t.Context(), "__sentinel__:hello").Result()
		return err == nil && n["__sentinel__:hello"] > 0
	}, patience, 10*time.Millisecond)
	for _, url := range urls {
		assert.Len(t, titled(examine(t, []string{url}), title), 1)
	}
}

func TestARoundTripNearTheNodeTimeout(t *testing.T) {
	t.Parallel()
	const title = "the round trip is near the node timeout"
	server := redisproc.ForTest(t, 1)[0]
	n, err := node.Open(server.URL(), node.WithDialer(slowDialer))
	require.NoError(t, err)
	locker, err := redlock.New(
		[]*node.Node{n}, redlock.WithTTL(3*time.Second), redlock.WithNodeTimeout(300*time.Millisecond),
	)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	report, err := examined(doctor.Examine(t.Context(), locker, doctor.WithSpan(10*span)))
	require.NoError(t, err)
	require.Len(t, titled(report, title), 1, "%v", report)
	assert.Empty(t, titled(examine(t, []string{server.URL()}), title))
}

// A proxy that sends the requests of one connection to two servers in turn.
func TestAProxyThatMultiplexes(t *testing.T) {
	t.Parallel()
	const title = "a proxy answers"
	servers := redisproc.ForTest(t, 2)
	proxy := testnet.Serve(t, func(client net.Conn) { multiplex(client, servers) })
	report := examineFor(t, 10*span, []string{"redis://" + proxy}) // enough samples on a busy machine
	found := titled(report, title)
	require.Len(t, found, 1, "%v", report)
	assert.Contains(t, found[0].Why, "changed on one connection")
	assert.Empty(t, titled(examine(t, []string{servers[0].URL()}), title))
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
		if bytes.Contains(buf[:n], []byte("\r\ntime\r\n")) {
			samples++
		}
		turn := 0
		if samples > 3 {
			turn = 1
		}
		if _, err := backends[turn].Write(buf[:n]); err != nil {
			return
		}
	}
}
