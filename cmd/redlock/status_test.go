package main_test

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	redlocker "github.com/redlock-go/redlock"
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
	status := func(flags ...string) result { // soon, before the young master is older than the patterns say
		return redlock(t, masters, append([]string{"status", "--node-timeout", "1s"}, flags...)...)
	}
	got := status()
	assert.Equal(t, 69, got.code, "two of five are no majority")
	assert.Contains(t, got.stderr, "no majority of the masters may vote")
	assert.Regexp(t, `^MASTER +REACHABLE +ROUND TRIP +ROLE +VERSION +UPTIME +MAY VOTE\n`, got.stdout)
	for i, want := range []string{
		` no - - - - no: .*connection refused$`,
		` no - - - - no: .*(time|answer)`,
		` yes [\d.]+ms master [\d.]+ [\d.]+m?s in 1?\d(\.\d)?s: restarted within the restart .* have forgotten locks$`,
		` yes [\d.]+ms master [\d.]+ 30d yes$`,
		` yes [\d.]+ms master [\d.]+ 30d yes$`,
	} {
		assert.Regexp(t, want, row(t, got.stdout, addr(masters[i])))
	}
	assert.Contains(t, got.stdout, "2 of 5 may vote, 3 are needed\n")

	text := strings.Join(strings.Fields(status("--json").stdout), "")
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

	got = status("--without-restart-guard")
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
	assert.Regexp(t, `^orders:42: held by `+host+` \(mutex\), [45]\ds left, 4 of 5 votes, token `+
		regexp.QuoteMeta(token)+`$`, row(t, got.stdout, "orders:42"))
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

// locks is a Locker with a name of its own, whose locks the command is to show.
func locks(t *testing.T, masters []*redlocktest.Master, owner string) *redlocker.Locker {
	t.Helper()
	locker, err := redlocker.Open(redlocktest.URLs(masters), redlocker.WithOwner(owner), redlocker.WithTTL(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	return locker
}

// seen waits until status shows the name as want says, a regular expression of its text with single spaces, and returns
// all that it shows.
func seen(t *testing.T, masters []*redlocktest.Master, name, want string) (shown string) {
	t.Helper()
	spaces, re := regexp.MustCompile(` +`), regexp.MustCompile(want)
	found := assert.Eventually(t, func() bool {
		shown = redlock(t, masters, "status", name).stdout
		return re.MatchString(spaces.ReplaceAllString(shown, " "))
	}, patience, time.Millisecond)
	require.True(t, found, "status does not show %q, but:\n%s", want, shown)
	return shown
}

func TestSharedRunsHoldTheLockTogetherAndExcludeOthers(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	first, endFirst := hold(t, masters, "doc", "--shared")
	second, endSecond := hold(t, masters, "doc", "--shared", "--try")
	got := seen(t, masters, "doc", `5 of 5 votes,.*\n.*5 of 5 votes,.*\n`)
	assert.Equal(t, 2, strings.Count(got, "doc: held by "), "each reader has a line:\n%s", got)
	assert.Contains(t, got, "(reader)")

	for _, flags := range [][]string{{"--try"}, {"--try", "--fence"}} {
		alone := redlock(t, masters, append(append([]string{"run"}, flags...), "doc", "--", "echo", "must not run")...)
		alone.fails(t, 75)
		assert.Regexp(t, `redlock: doc is held by \S+ and 1 more \(reader\), \S+ left`, alone.stderr)
	}

	writer := launch(t, masters, "run", "doc", "--", "echo", "alone")
	endFirst()
	assert.Equal(t, 0, first.wait())
	assert.Empty(t, writer.stdout.String(), "one reader is left")
	endSecond()
	assert.Equal(t, 0, second.wait())
	assert.Equal(t, 0, writer.wait())
	assert.Equal(t, "alone\n", writer.stdout.String())
}

func TestStatusShowsAllReadersAndTheirFence(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	for _, owner := range []string{"web-1", "web-2", "web-3", "web-4"} {
		_, err := locks(t, masters, owner).RW("doc").RLock(t.Context(), redlocker.WithFencing())
		require.NoError(t, err)
	}
	each := `doc: held by web-\d \(reader\), \d+s left, 5 of 5 votes, token web-\d:[0-9a-f]{32}\n`
	seen(t, masters, "doc", strings.Repeat(each, 4)+`doc: the last fencing token was \d+\n`)

	// All of them, on every master, which has a counter of its own: one that answered late may be ahead.
	const who, fence = `"owner":"web-\d","token":"web-\d:[0-9a-f]{32}",`, `"fence":\d{16},`
	const left = `"left_ms":[45]\d{4}(\.\d+)?`
	assert.Regexp(t, `{"name":"doc","kind":"reader","held":true,"depth":1,`+fence+
		`"holders":\[({`+who+`"votes":5,`+left+`},?){4}\],`+
		`"nodes":\[({"node":"[^"]+","kind":"reader",`+who+left+`,`+fence+`"holders":\[({`+who+left+`},?){4}\]},?){5}\]`,
		strings.Join(strings.Fields(redlock(t, masters, "status", "--json", "doc").stdout), ""))
}

// The holds of an owner exclude others even if none of them has a majority.
func TestStatusShowsAnOwnerWithoutAMajorityForOneHold(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for i, m := range masters[1:] {
		require.NoError(t, client(t, m).ZAdd(t.Context(), "deep", redis.Z{
			Score: float64(time.Now().Add(time.Minute).UnixMilli()), Member: fmt.Sprintf("redlock:reentrant:me:%032d", i),
		}).Err())
	}
	assert.Equal(t, "deep: held (reentrant, depth 2), but no hold has a majority",
		row(t, redlock(t, masters, "status", "deep").stdout, "deep"))
	assert.Contains(t, redlock(t, masters, "status", "--json", "deep").stdout, `"held": true`)
}

// A key of another type blocks every lock, and is no token.
func TestStatusShowsAKeyThatIsNoLock(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for _, m := range masters {
		require.NoError(t, client(t, m).HSet(t.Context(), "a hash", "field", "value").Err())
	}
	got := redlock(t, masters, "status", "a hash")
	assert.Equal(t, `"a hash": held by an unknown holder (hash), no end, 3 of 3 votes`, row(t, got.stdout, `"a hash"`))
	assert.Equal(t, addr(masters[0])+" hash an unknown holder no end", row(t, got.stdout, addr(masters[0])))
	assert.Contains(t, redlock(t, masters, "status", "--json", "a hash").stdout, `"owner": "",`)
	redlock(t, masters, "run", "--shared", "--try", "a hash", "--", "true").
		fails(t, 75, `"a hash" is held by an unknown holder (hash), without an end;`)
}

// What a minority of the masters keeps without an end can be released by what status shows.
func TestStatusShowsTheTokenOfAMinority(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	const token = "it's a $token"
	for _, m := range masters[:2] {
		require.NoError(t, client(t, m).Set(t.Context(), "left", token, 0).Err())
	}
	const word = `'it'\''s a $token'`
	got := redlock(t, masters, "status", "left")
	assert.Contains(t, row(t, got.stdout, addr(masters[0])), ` "it's a $token" no end (token `+word+")")
	p := launchWith(t, masters, func(c *exec.Cmd) {
		c.Path, c.Args = "/bin/sh", []string{"sh", "-c", binary + " release left " + word}
	})
	assert.Equal(t, 70, p.wait(), "a majority does not have it")
	assert.True(t, free(t, masters, "left"))
}

func TestSlotsLimitHowManyRun(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	hold(t, masters, "encoder", "--slots", "2")
	hold(t, masters, "encoder", "--slots", "2")
	for _, m := range masters {
		c := client(t, m)
		require.Eventually(t, func() bool { return c.ZCard(t.Context(), "encoder").Val() == 2 }, patience, time.Millisecond)
	}
	assert.Regexp(t, `"nodes":\[({"node":"[^{]*"holders":\[({[^{}]*"slot":[12],[^{}]*},?){2}\]},?){3}\]`,
		strings.Join(strings.Fields(redlock(t, masters, "status", "--json", "encoder").stdout), ""))
	seen(t, masters, "encoder", `\(semaphore, slot [12] of 2\).*\n.*\(semaphore, slot [12] of 2\)`)
	redlock(t, masters, "run", "--try", "--slots", "2", "encoder", "--", "true").fails(t, 75)
	redlock(t, masters, "run", "--slots", "3", "encoder", "--", "true").
		fails(t, 64, "asked for with 3 slots, but its holders have 2")
}
