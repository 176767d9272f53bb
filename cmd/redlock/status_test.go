package main_test

import (
	"encoding/json"
	"io"
	"net"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/redlocktest"
)

// addr is what a master is called.
func addr(m *redlocktest.Master) string { return strings.TrimPrefix(m.URL(), "redis://") }

// row is the line of a table that starts with word.
func row(t *testing.T, table, word string) string {
	t.Helper()
	for line := range strings.Lines(table) {
		if strings.HasPrefix(strings.TrimSpace(line), word) {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	t.Fatalf("no line starts with %q in:\n%s", word, table)
	return ""
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &v), text)
	return v
}

// troubled are five masters of which one is down, one silent, one young, and two may vote.
func troubled(t *testing.T) []*redlocktest.Master {
	t.Helper()
	masters := redlocktest.Start(t, 5)
	masters[0].Stop()
	masters[1].Freeze()
	masters[2].Stop()
	masters[2].Start()
	return masters
}

func TestStatusSaysWhyAMasterMayNotVote(t *testing.T) {
	t.Parallel()
	masters := troubled(t)
	got := redlock(t, masters, "status")
	assert.Equal(t, 69, got.code, "two of five are no majority")
	assert.Contains(t, got.stderr, "no majority of the masters may vote")
	assert.Regexp(t, `^MASTER +REACHABLE +ROUND TRIP +ROLE +VERSION +UPTIME +MAY VOTE\n`, got.stdout)
	for i, want := range []string{
		` no - - - - no: .*connection refused$`,
		` no - - - - no: .*(time|answer)`,
		` yes [\d.]+ms master [\d.]+ [\d.]+m?s in 1?\d(\.\d)?s: .*restart`,
		` yes [\d.]+ms master [\d.]+ 30d yes$`,
		` yes [\d.]+ms master [\d.]+ 30d yes$`,
	} {
		assert.Regexp(t, want, row(t, got.stdout, addr(masters[i])))
	}
	assert.Contains(t, got.stdout, "2 of 5 may vote, 3 are needed\n")

	text := strings.Join(strings.Fields(redlock(t, masters, "status", "--json").stdout), "")
	assert.Contains(t, text, `{"votes":5,"needed":3,"may_vote":2,"quorum":false,"masters":[{`)
	const server = `"reachable":true,"round_trip_ms":[\d.]+,"role":"master","version":"[\d.]+","run_id":"[0-9a-f]{40}",` +
		`"uptime_ms":`
	for i, want := range map[int]string{
		0: `"reachable":false,"round_trip_ms":null,"uptime_ms":null,"may_vote":false,"vote_in_ms":0,"error":"[^"]*refused"}`,
		2: server + `\d{1,4}(\.\d+)?,"may_vote":false,"vote_in_ms":(1[0-2]\d{3}|[1-9]\d{0,3})(\.\d+)?,"error":"[^"]+"}`,
		3: server + `259\d{7}(\.\d+)?,"may_vote":true,"vote_in_ms":0}`,
	} {
		assert.Regexp(t, `{"node":"`+addr(masters[i])+`",`+want, text)
	}

	got = redlock(t, masters, "status", "--without-restart-guard")
	assert.Equal(t, 0, got.code, "the young one may vote without the guard")
	assert.Empty(t, got.stderr)
	assert.Contains(t, got.stdout, "3 of 5 may vote, 3 are needed\n")
}

func TestStatusOfLocks(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	hold(t, masters, "orders:42", "--ttl", "1m")
	token := heldEverywhere(t, masters, "orders:42")
	masters[4].Wipe() // it knows nothing of it until the next extension

	got := redlock(t, masters, "status", "orders:42", "unheld")
	assert.Equal(t, 0, got.code)
	assert.Empty(t, got.stderr)
	host := token[:strings.LastIndex(token, ":")]
	assert.Regexp(
		t, `^orders:42: held by `+host+` \(mutex\), [45]\ds left, 4 of 5 votes, token `+regexp.QuoteMeta(token)+`$`,
		row(t, got.stdout, "orders:42"),
	)
	assert.Regexp(t, ` mutex `+host+` [45]\ds left$`, row(t, got.stdout, addr(masters[0])))
	assert.Equal(t, addr(masters[4])+" free", row(t, got.stdout, addr(masters[4])))
	assert.Equal(t, "unheld: free", row(t, got.stdout, "unheld"))
	assert.NotContains(t, got.stdout, " \n", "no space at the end of a line")

	got = redlock(t, masters, "status", "--json", "orders:42", "unheld")
	assert.Equal(t, 0, got.code)
	holder := `"owner":"` + host + `","token":"` + regexp.QuoteMeta(token) + `",`
	const left = `"left_ms":([45]\d{4}(\.\d+)?|60000)`
	assert.Regexp(t, `^{"locks":\[{"name":"orders:42","kind":"mutex","held":true,"depth":1,`+
		`"holders":\[{`+holder+`"votes":4,`+left+`}\],`+
		`"nodes":\[({"node":"[^"]+","kind":"mutex",`+holder+left+`,"holders":\[{`+holder+left+`}\]},){4}`+
		`{"node":"`+addr(masters[4])+`"}\]},`+
		`{"name":"unheld","held":false,"depth":0,"holders":\[\],"nodes":\[({"node":"[^"]+"},?){5}\]}\]}$`,
		strings.Join(strings.Fields(got.stdout), ""))
}

// deaf are masters that accept connections and never answer. A value arrives for each connection.
func deaf(t *testing.T, n int) (urls string, connected <-chan struct{}) {
	t.Helper()
	c := make(chan struct{}, 100)
	var all []string
	for range n {
		all = append(all, "redis://"+testnet.Serve(t, func(conn net.Conn) {
			c <- struct{}{}
			_, _ = io.Copy(io.Discard, conn)
		}))
	}
	return strings.Join(all, ","), c
}

func TestStatusCanBeInterrupted(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"status"}, {"status", "name"}, {"release", "name", "token"}} {
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGQUIT} {
			urls, connected := deaf(t, 3)
			p := launch(t, nil, append(args, "--masters", urls, "--ttl", "1h", "--node-timeout", "20m")...)
			<-connected // it asks
			p.signal(s)
			assert.Equal(t, 128+int(s), p.wait())
			assert.Empty(t, p.stdout.String()+p.stderr.String())
		}
	}
}
