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

func TestStatusOfHealthyMasters(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	got := redlock(t, masters, "status")
	assert.Equal(t, 0, got.code)
	assert.Empty(t, got.stderr)
	assert.Regexp(t, `^MASTER +REACHABLE +ROUND TRIP +ROLE +VERSION +UPTIME +MAY VOTE\n`, got.stdout)
	for _, m := range masters {
		assert.Regexp(t, `yes [\d.]+ms master [\d.]+ 30d yes$`, row(t, got.stdout, addr(m)))
	}
	assert.Contains(t, got.stdout, "3 of 3 may vote, 2 are needed\n")
}

func TestStatusSaysWhyAMasterMayNotVote(t *testing.T) {
	t.Parallel()
	masters := troubled(t)
	got := redlock(t, masters, "status")
	assert.Equal(t, 69, got.code, "two of five are no majority")
	assert.Contains(t, got.stderr, "no majority of the masters may vote")
	assert.Regexp(t, ` no - - - - no: .*connection refused$`, row(t, got.stdout, addr(masters[0])))
	assert.Regexp(t, ` no - - - - no: .*(time|answer)`, row(t, got.stdout, addr(masters[1])))
	assert.Regexp(
		t, ` yes [\d.]+ms master [\d.]+ [\d.]+m?s in 1?\d(\.\d)?s: .*restart`, row(t, got.stdout, addr(masters[2])),
	)
	assert.Regexp(t, ` yes$`, row(t, got.stdout, addr(masters[3])))
	assert.Contains(t, got.stdout, "2 of 5 may vote, 3 are needed\n")

	got = redlock(t, masters, "status", "--without-restart-guard")
	assert.Equal(t, 0, got.code, "the young one may vote without the guard")
	assert.Contains(t, got.stdout, "3 of 5 may vote, 3 are needed\n")
}

func TestStatusAsJSON(t *testing.T) {
	t.Parallel()
	masters := troubled(t)
	got := redlock(t, masters, "status", "--json")
	assert.Equal(t, 69, got.code)
	v := decode(t, got.stdout)
	assert.InDelta(t, 5, v["votes"], 0)
	assert.InDelta(t, 3, v["needed"], 0)
	assert.InDelta(t, 2, v["may_vote"], 0)
	assert.Equal(t, false, v["quorum"])
	rows := v["masters"].([]any)
	require.Len(t, rows, 5)

	down := rows[0].(map[string]any)
	assert.Equal(t, addr(masters[0]), down["node"])
	assert.Equal(t, false, down["reachable"])
	assert.Equal(t, false, down["may_vote"])
	assert.Nil(t, down["round_trip_ms"])
	assert.Nil(t, down["uptime_ms"])
	assert.Contains(t, down["error"], "refused")

	young := rows[2].(map[string]any)
	assert.Equal(t, true, young["reachable"])
	assert.Equal(t, false, young["may_vote"])
	assert.Less(t, young["uptime_ms"], 10000.0)
	assert.Positive(t, young["vote_in_ms"])
	assert.Less(t, young["vote_in_ms"], 13000.0)
	assert.NotEmpty(t, young["error"])

	well := rows[3].(map[string]any)
	assert.Equal(t, true, well["reachable"])
	assert.Equal(t, true, well["may_vote"])
	assert.Equal(t, "master", well["role"])
	assert.Regexp(t, `^\d+\.\d+\.\d+$`, well["version"])
	assert.Regexp(t, `^[0-9a-f]{40}$`, well["run_id"])
	assert.GreaterOrEqual(t, well["uptime_ms"], 30*24*3600*1000.0)
	assert.Positive(t, well["round_trip_ms"])
	assert.InDelta(t, 0, well["vote_in_ms"], 0)
	assert.NotContains(t, well, "error")
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
	locks := decode(t, got.stdout)["locks"].([]any)
	require.Len(t, locks, 2)
	held := locks[0].(map[string]any)
	assert.Equal(t, "orders:42", held["name"])
	assert.Equal(t, "mutex", held["kind"])
	assert.Equal(t, true, held["held"])
	holder := held["holders"].([]any)[0].(map[string]any)
	assert.Equal(t, token, holder["token"])
	assert.Equal(t, host, holder["owner"])
	assert.InDelta(t, 4, holder["votes"], 0)
	assert.Greater(t, holder["left_ms"], 40000.0)
	assert.LessOrEqual(t, holder["left_ms"], 60000.0)
	nodes := held["nodes"].([]any)
	require.Len(t, nodes, 5)
	assert.Equal(t, addr(masters[0]), nodes[0].(map[string]any)["node"])
	assert.Equal(t, token, nodes[0].(map[string]any)["token"])
	assert.NotContains(t, nodes[4], "token")
	assert.NotContains(t, held, "fence", "no holder asked for one")
	free := locks[1].(map[string]any)
	assert.Equal(t, false, free["held"])
	assert.Equal(t, []any{}, free["holders"])
}

func TestStatusOfALockOfAnotherClient(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for i, m := range masters {
		c := client(t, m)
		defer c.Close()
		require.NoError(t, c.Set(t.Context(), "no ttl", "\x1b[2J\x07 rude", 0).Err())
		if i == 0 {
			require.NoError(t, c.Set(t.Context(), "half", "token", 0).Err())
		}
	}
	got := redlock(t, masters, "status", "no ttl", "half")
	assert.Equal(t, 0, got.code)
	assert.NotContains(t, got.stdout, "\x1b", "a token must not talk to the terminal")
	assert.Equal(t, `"no ttl": held by "\x1b[2J\a rude" (mutex), no end, 3 of 3 votes, `+
		`token "\x1b[2J\a rude"`, row(t, got.stdout, `"no ttl"`))
	assert.Contains(t, row(t, got.stdout, "half:"), "no token has a majority")

	locks := decode(t, redlock(t, masters, "status", "--json", "no ttl").stdout)["locks"].([]any)
	holder := locks[0].(map[string]any)["holders"].([]any)[0].(map[string]any)
	assert.InDelta(t, -1, holder["left_ms"], 0)
}

func TestStatusOfLocksWithoutAMajority(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	masters[0].Stop()
	masters[2].Stop()
	got := redlock(t, masters, "status", "name")
	assert.Equal(t, 69, got.code)
	assert.Contains(t, got.stdout, "name: unknown, no majority of the masters answered\n")
	assert.Contains(t, row(t, got.stdout, addr(masters[0])), "connection refused")
	assert.Equal(t, addr(masters[1])+" free", row(t, got.stdout, addr(masters[1])))
	assert.Contains(t, got.stderr, "no majority")

	got = redlock(t, masters, "status", "--json", "name")
	assert.Equal(t, 69, got.code)
	lock := decode(t, got.stdout)["locks"].([]any)[0].(map[string]any)
	assert.Contains(t, lock["error"], "no majority")
	assert.Len(t, lock["nodes"], 3)
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
		urls, connected := deaf(t, 3)
		p := launch(t, nil, append(args, "--masters", urls, "--ttl", "1h", "--node-timeout", "20m")...)
		<-connected // it asks
		p.signal(syscall.SIGTERM)
		assert.Equal(t, 128+15, p.wait())
		assert.Empty(t, p.stdout.String()+p.stderr.String())
	}
}
