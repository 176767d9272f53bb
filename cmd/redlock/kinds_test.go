package main_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

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
			t, ` reader web-\d \d+s left, web-\d \d+s left, web-\d \d+s left and 1 more last fence \d+$`,
			row(t, got, addr(m)),
		)
	}

	// All of them, on every master, which has a counter of its own: one that answered late may be ahead.
	const who, fence = `"owner":"web-\d","token":"web-\d:[0-9a-f]{32}",`, `"fence":\d{16},`
	const left = `"left_ms":[45]\d{4}(\.\d+)?`
	assert.Regexp(t, `{"name":"doc","kind":"reader","held":true,"depth":1,`+fence+
		`"holders":\[({`+who+`"votes":5,`+left+`},?){4}\],`+
		`"nodes":\[({"node":"[^"]+","kind":"reader",`+who+left+`,`+fence+`"holders":\[({`+who+left+`},?){4}\]},?){5}\]`,
		strings.Join(strings.Fields(redlock(t, masters, "status", "--json", "doc").stdout), ""))
}

// A key of another type blocks every lock, and is no token.
func TestStatusShowsAKeyThatIsNoLock(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for _, m := range masters {
		c := client(t, m)
		require.NoError(t, c.HSet(t.Context(), "a hash", "field", "value").Err())
		require.NoError(t, c.Close())
	}
	got := redlock(t, masters, "status", "a hash")
	assert.Equal(t, `"a hash": held by an unknown holder (hash), no end, 3 of 3 votes`, row(t, got.stdout, `"a hash"`))
	assert.Equal(t, addr(masters[0])+" hash an unknown holder no end", row(t, got.stdout, addr(masters[0])))
	redlock(t, masters, "run", "--shared", "--try", "a hash", "--", "true").
		fails(t, 75, `"a hash" is held by an unknown holder (hash), without an end;`)
}

func TestSlotsLimitHowManyRun(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	hold(t, masters, "encoder", "--slots", "2")
	hold(t, masters, "encoder", "--slots", "2")
	seen(t, masters, "encoder", `\(semaphore, slot [12] of 2\).*\n.*\(semaphore, slot [12] of 2\)`)
	redlock(t, masters, "run", "--try", "--slots", "2", "encoder", "--", "true").fails(t, 75)
	redlock(t, masters, "run", "--slots", "3", "encoder", "--", "true").
		fails(t, 64, "asked for with 3 slots, but its holders have 2")
}
