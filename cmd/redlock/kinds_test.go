package main_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	redlocker "github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

// locks is a Locker with a name of its own, whose locks the command is to show.
func locks(t *testing.T, masters []*redlocktest.Master, owner string) *redlocker.Locker {
	t.Helper()
	locker, err := redlocker.Open(redlocktest.URLs(masters), redlocker.WithOwner(owner), redlocker.WithTTL(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	return locker
}

// seen waits until status shows the name as want says, a regular expression of its lines without their spaces, and
// returns all that it shows.
func seen(t *testing.T, masters []*redlocktest.Master, name, want string) (shown string) {
	t.Helper()
	re := regexp.MustCompile(want)
	for deadline := time.Now().Add(patience); ; {
		shown = redlock(t, masters, "status", name).stdout
		var lines strings.Builder
		for line := range strings.Lines(shown) {
			lines.WriteString(strings.Join(strings.Fields(line), " ") + "\n")
		}
		if re.MatchString(lines.String()) {
			return shown
		}
		if time.Now().After(deadline) {
			t.Fatalf("status does not show %q, but:\n%s", want, shown)
		}
	}
}

func TestSharedRunsHoldTheLockTogetherAndExcludeOthers(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	first, endFirst := hold(t, masters, "doc", "--shared")
	second, endSecond := hold(t, masters, "doc", "--shared", "--try")
	got := seen(t, masters, "doc", `5 of 5 votes,.*\n.*5 of 5 votes,.*\n`)
	assert.Equal(t, 2, strings.Count(got, "doc: held by "), "each reader has a line:\n%s", got)
	assert.Contains(t, got, "(reader)")

	alone := redlock(t, masters, "run", "--try", "doc", "--", "echo", "must not run")
	assert.Equal(t, 75, alone.code)
	assert.Empty(t, alone.stdout)
	assert.Regexp(t, `redlock: doc is held by \S+ and 1 more \(reader\), \S+ left`, alone.stderr)
	alone = redlock(t, masters, "run", "--try", "--fence", "doc", "--", "echo", "must not run")
	assert.Equal(t, 75, alone.code)
	assert.Contains(t, alone.stderr, `and 1 more (reader)`)

	writer := launch(t, masters, "run", "doc", "--", "echo", "alone")
	endFirst()
	assert.Equal(t, 0, first.wait())
	assert.Empty(t, writer.stdout.String(), "one reader is left")
	endSecond()
	assert.Equal(t, 0, second.wait())
	assert.Equal(t, 0, writer.wait())
	assert.Equal(t, "alone\n", writer.stdout.String())
}

func TestASharedRunWaitsForAnExclusiveHolder(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	_, end := hold(t, masters, "doc")
	tried := redlock(t, masters, "run", "--shared", "--try", "doc", "--", "echo", "must not run")
	assert.Equal(t, 75, tried.code)
	assert.Empty(t, tried.stdout)
	waited := redlock(t, masters, "run", "--shared", "--wait", "300ms", "doc", "--", "echo", "must not run")
	assert.Equal(t, 75, waited.code)
	assert.Contains(t, waited.stderr, "(mutex)")

	reader := launch(t, masters, "run", "--shared", "doc", "--", "echo", "my turn")
	end()
	assert.Equal(t, 0, reader.wait())
	assert.Equal(t, "my turn\n", reader.stdout.String())
}

// fenceOf runs a command under the lock that prints its fencing token; 0 if it has none.
func fenceOf(t *testing.T, masters []*redlocktest.Master, flags ...string) uint64 {
	t.Helper()
	got := redlock(t, masters, append(
		append([]string{"run"}, flags...), "doc", "--", "sh", "-c", `echo "${REDLOCK_FENCE-none}"`,
	)...)
	require.Equal(t, 0, got.code, got.stderr)
	if got.stdout == "none\n" {
		return 0
	}
	fence, err := strconv.ParseUint(strings.TrimSuffix(got.stdout, "\n"), 10, 64)
	require.NoError(t, err)
	require.NotZero(t, fence)
	return fence
}

func TestRunGivesTheCommandAFenceThatGrows(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	one := fenceOf(t, masters, "--fence")
	two := fenceOf(t, masters, "--fence", "--try")
	assert.Greater(t, two, one)
	shared := fenceOf(t, masters, "--fence", "--shared")
	assert.Greater(t, shared, two)
	assert.Positive(t, fenceOf(t, masters, "--shared", "--fence=false", "--fence"), "in any order")
	assert.Greater(t, fenceOf(t, masters, "--fence"), shared)
	assert.Zero(t, fenceOf(t, masters), "no token without --fence")
}

// The inner of two nested runs locks without a fence. Its command must not see the fence of the outer lock.
func TestACommandDoesNotInheritAnotherLocksFence(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	got := redlock(t, masters, "run", "--fence", "--pass-masters", "outer", "--", binary, "run", "inner", "--",
		"sh", "-c", `echo "$REDLOCK_NAME ${REDLOCK_FENCE-none}"`)
	assert.Equal(t, result{0, "inner none\n", ""}, got)
}

func TestStatusShowsAllReadersAndTheirFence(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	for _, owner := range []string{"web-1", "web-2", "web-3", "web-4"} {
		_, err := locks(t, masters, owner).RW("doc").RLock(t.Context(), redlocker.WithFencing())
		require.NoError(t, err)
	}
	each := `doc: held by web-\d \(reader\), \d+s left, 5 of 5 votes, token web-\d:[0-9a-f]{32}\n`
	got := seen(t, masters, "doc", strings.Repeat(each, 4)+`doc: the last fencing token was \d+\n`)
	for _, owner := range []string{"web-1", "web-2", "web-3", "web-4"} {
		assert.Contains(t, got, "held by "+owner+" ")
	}
	for _, m := range masters {
		assert.Regexp(
			t, ` reader web-\d \d+s left, web-\d \d+s left, web-\d \d+s left and 1 more last fence \d+$`, row(t, got, addr(m)),
		)
	}

	lock := decode(t, redlock(t, masters, "status", "--json", "doc").stdout)["locks"].([]any)[0].(map[string]any)
	assert.Equal(t, "reader", lock["kind"])
	assert.InDelta(t, 1, lock["depth"], 0)
	assert.Len(t, lock["holders"], 4)
	assert.Greater(t, lock["fence"], 1e15)
	for _, n := range lock["nodes"].([]any) {
		node := n.(map[string]any)
		assert.Equal(t, "reader", node["kind"])
		assert.Equal(t, lock["fence"], node["fence"])
		require.Len(t, node["holders"], 4, "all of them, on every master")
		one := node["holders"].([]any)[0].(map[string]any)
		assert.Regexp(t, `^web-\d$`, one["owner"])
		assert.Regexp(t, `^web-\d:[0-9a-f]{32}$`, one["token"])
		assert.Greater(t, one["left_ms"], 40000.0)
	}
}

func TestStatusShowsWriterAndDepth(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	locker := locks(t, masters, "web-1")
	_, err := locker.RW("doc").Lock(t.Context())
	require.NoError(t, err)
	for range 2 {
		_, err = locker.Reentrant("account", "worker-17").Lock(t.Context(), redlocker.WithFencing())
		require.NoError(t, err)
	}

	seen(t, masters, "doc", `^doc: held by web-1 \(writer\), \d+s left, 5 of 5 votes, token \S+\n`+
		`(\S+ writer web-1 \d+s left\n){5}$`)
	one := `account: held by worker-17 \(reentrant, depth 2\), \d+s left, 5 of 5 votes, token \S+\n`
	seen(t, masters, "account", "^"+one+one+`account: the last fencing token was \d+\n`+
		`(\S+ reentrant worker-17 \d+s left, worker-17 \d+s left last fence \d+\n){5}$`)
	lock := decode(t, redlock(t, masters, "status", "--json", "account").stdout)["locks"].([]any)[0].(map[string]any)
	assert.Equal(t, "reentrant", lock["kind"])
	assert.InDelta(t, 2, lock["depth"], 0)
	free := decode(t, redlock(t, masters, "status", "--json", "unheld").stdout)["locks"].([]any)[0].(map[string]any)
	assert.InDelta(t, 0, free["depth"], 0)
	assert.NotContains(t, free, "kind")
}

// A key of another type blocks every lock, and is no token.
func TestStatusShowsAKeyThatIsNoLock(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for _, m := range masters {
		opts, err := redis.ParseURL(m.URL())
		require.NoError(t, err)
		c := redis.NewClient(opts)
		require.NoError(t, c.HSet(t.Context(), "a hash", "field", "value").Err())
		require.NoError(t, c.Close())
	}
	got := redlock(t, masters, "status", "a hash")
	assert.Equal(t, `"a hash": held by an unknown holder (hash), no end, 3 of 3 votes`, row(t, got.stdout, `"a hash"`))
	assert.Equal(t, addr(masters[0])+" hash an unknown holder no end", row(t, got.stdout, addr(masters[0])))

	tried := redlock(t, masters, "run", "--shared", "--try", "a hash", "--", "true")
	assert.Equal(t, 75, tried.code)
	assert.Contains(t, tried.stderr, `"a hash" is held by an unknown holder (hash), without an end;`)
}

func TestSlotsLimitHowManyRun(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	_, endFirst := hold(t, masters, "encoder", "--slots", "2")
	_, endSecond := hold(t, masters, "encoder", "--slots", "2")
	seen(t, masters, "encoder", `\(semaphore, slot [12] of 2\).*\n.*\(semaphore, slot [12] of 2\)`)
	assert.Equal(t, 75, redlock(t, masters, "run", "--try", "--slots", "2", "encoder", "--", "true").code)
	other := redlock(t, masters, "run", "--slots", "3", "encoder", "--", "true")
	assert.Equal(t, 64, other.code)
	assert.Contains(t, other.stderr, "asked for with 3 slots, but its holders have 2")
	endFirst()
	endSecond()
}

func TestAMinHoldOutlivesTheRun(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	assert.Zero(t, redlock(t, masters, "run", "--min-hold", "1m", "nightly", "--", "true").code)
	again := redlock(t, masters, "run", "--try", "nightly", "--", "true")
	assert.Equal(t, 75, again.code)
	assert.Regexp(t, `nightly is held by the minimum hold of \S+ \(mutex\), \S+ left; without`, again.stderr)
}
