package main_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	redlocker "github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

// What status shows is what release needs, for every kind of lock.
func TestReleaseByTheTokenThatStatusShows(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	locker := locks(t, masters, "web 1") // status quotes the token
	for name, lock := range map[string]func(name string) (*redlocker.Lock, error){
		"mutex":     func(name string) (*redlocker.Lock, error) { return locker.Lock(t.Context(), name) },
		"reader":    func(name string) (*redlocker.Lock, error) { return locker.RW(name).RLock(t.Context()) },
		"writer":    func(name string) (*redlocker.Lock, error) { return locker.RW(name).Lock(t.Context()) },
		"reentrant": func(name string) (*redlocker.Lock, error) { return locker.Reentrant(name, "o").Lock(t.Context()) },
		"semaphore": func(name string) (*redlocker.Lock, error) { return locker.Semaphore(name, 2).Acquire(t.Context()) },
	} {
		lk, err := lock(name)
		require.NoError(t, err)
		shown := row(t, redlock(t, masters, "status", name).stdout, name)
		token := strings.Trim(shown[strings.Index(shown, ", token ")+len(", token "):], `"`)
		assert.Equal(t, lk.Token(), token, "it is whole")
		report := redlock(t, masters, "status", "--json", name).stdout
		if name != "reentrant" {
			assert.Equal(t, 1+2*len(masters), strings.Count(report, `"owner": "web 1"`), "it is not quoted twice")
		}
		assert.Equal(t, 1+2*len(masters), strings.Count(report, `"token": "`+token+`"`), "of the lock, and twice of a master")

		assert.Equal(t, result{}, redlock(t, masters, "release", name, token))
		assert.Contains(t, redlock(t, masters, "status", name).stdout, name+": free")
		again := redlock(t, masters, "release", name, token)
		assert.Equal(t, result{70, "", "redlock: a majority of the masters does not have the token for " + name +
			": redlock status " + name + " shows who holds it\n"}, again)
		require.ErrorIs(t, lk.Unlock(t.Context()), redlocker.ErrLost)
	}
}

func TestReleaseOfAMinimumHold(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	require.Zero(t, redlock(t, masters, "run", "--min-hold", "1m", "nightly", "--", "true").code)
	shown := row(t, redlock(t, masters, "status", "nightly").stdout, "nightly")
	assert.Regexp(t, `^nightly: held by the minimum hold of \S+ \(mutex\), \S+ left, 3 of 3 votes, token min-hold`, shown)
	again := redlock(t, masters, "run", "--try", "nightly", "--", "true")
	assert.Equal(t, 75, again.code)
	assert.Regexp(t, `nightly is held by the minimum hold of \S+ \(mutex\), \S+ left; without`, again.stderr)
	assert.NotContains(t, redlock(t, masters, "status", "--json", "nightly").stdout, "the minimum hold")
	fields := strings.Fields(shown)
	assert.Equal(t, result{}, redlock(t, masters, "release", "nightly", fields[len(fields)-1]))
	assert.Zero(t, redlock(t, masters, "run", "--try", "nightly", "--", "true").code)
}

func TestWhatReleaseSaysWithoutAMajority(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	hold(t, masters, "name", "--ttl", "1h")
	token := heldEverywhere(t, masters, "name")
	masters[0].Stop()
	masters[1].Stop()
	release := func() result { // waits for the stopped masters for some node timeouts
		return redlock(t, masters, "release", "--node-timeout", "1s", "name", token)
	}
	got := release()
	assert.Equal(t, 69, got.code)
	assert.Regexp(t, `^redlock: the release of name is not confirmed: no majority of the masters answered; `+
		`run it again when one does\n(  \S+  .*connection refused\n){2}$`, got.stderr)
	masters[0].Start()
	assert.NotEqual(t, 64, release().code)
}

func TestStatusOfSeveralNamesIsInTheirOrder(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	names := []string{"z", "held", "a", "held", "b c"}
	hold(t, masters, "held")
	heldEverywhere(t, masters, "held")
	inOrder := func(pattern, text string) (all []string) {
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
			all = append(all, m[1]+" "+m[2])
		}
		return all
	}
	text := redlock(t, masters, append([]string{"status"}, names...)...).stdout
	assert.Len(t, strings.Split(text, "\n\n"), len(names), "an empty line between two:\n%s", text)
	assert.Equal(t, []string{"z free", "held held", "a free", "held held", `"b c" free`},
		inOrder(`(?m)^(\S.*?): (held|free)`, text))
	text = redlock(t, masters, append([]string{"status", "--json"}, names...)...).stdout
	assert.Equal(t, []string{"z false", "held true", "a false", "held true", "b c false"},
		inOrder(`"name": "(.*)",\n(?: +"kind": .*\n)? +"held": (\w+)`, text))

	stopAll(masters[:2])
	got := redlock(t, masters, append([]string{"status"}, names...)...)
	assert.Equal(t, 69, got.code, "one that is unknown suffices")
	assert.Equal(t, len(names), strings.Count(got.stdout, ": unknown, no majority of the masters answered\n"))
	assert.Contains(t, row(t, got.stdout, addr(masters[0])), "connection refused")
	assert.Regexp(t, `^redlock: no majority.*\n$`, got.stderr)
	got = redlock(t, masters, "status", "--json", "z")
	assert.Equal(t, 69, got.code)
	assert.Regexp(t, `"name": "z"(?s:.*)"node": .*,\n +"error": ".*refused"(?s:.*)"error": "no majority`, got.stdout)
}

// Texts of a server and of other clients must not talk to the terminal.
func TestControlCharactersAreEscapedEverywhere(t *testing.T) {
	t.Parallel()
	const rude = "\x1b]0;rude\a\u009b2J\x7f\u202e"
	masters, refusing := redlocktest.Start(t, 3), redlocktest.Start(t, 3)
	for _, m := range masters { // a client that is not this library
		token := "o\u009b2J\u202e:c7e712f4b461a02e99cf9ca0c613db0c"
		require.NoError(t, client(t, m).Set(t.Context(), rude, token, time.Hour).Err())
	}
	for _, m := range refusing {
		m.Refuse("ERR " + rude)
	}
	rudeRune := func(r rune) bool { return r != '\n' && r < ' ' || slices.Contains([]rune("\u009b\x7f\u202e"), r) }
	type testCase struct {
		masters []*redlocktest.Master
		args    []string
		says    string
	}
	testmain.Each(t, map[string]testCase{
		"status":            {masters, []string{"status", rude}, `\u009b2J`},
		"JSON":              {masters, []string{"status", "--json", rude}, `"owner": "o\u009b2J\u202e"`},
		"try":               {masters, []string{"run", "--try", rude, "--", "true"}, `held by "o\u009b2J`},
		"wait":              {masters, []string{"run", "--wait", "3s", rude, "--", "true"}, "redlock: waiting"},
		"verbose":           {masters, []string{"run", "-v", rude + "2", "--", "true"}, "msg=locked"},
		"command":           {masters, []string{"run", "-v", "x", "--", rude}, "command not found"},
		"release":           {masters, []string{"release", rude, rude}, "does not have the token"},
		"owner":             {masters, []string{"run", "--owner", rude, "x", "--", "true"}, "owner"},
		"URL":               {masters, []string{"status", "--masters", "redis://h" + rude}, "redlock:"},
		"flag":              {masters, []string{"status", "--" + rude}, "unknown flag"},
		"subcommand":        {masters, []string{rude}, "unknown command"},
		"a refused status":  {refusing, []string{"status"}, "rude"},
		"status of a name":  {refusing, []string{"status", "x"}, "rude"},
		"a refused try":     {refusing, []string{"run", "--try", "x", "--", "true"}, "rude"},
		"a refused request": {refusing, []string{"run", "-v", "--wait", "1200ms", "x", "--", "true"}, "rude"},
	}, func(t *testing.T, tc testCase) {
		got := redlock(t, tc.masters, tc.args...)
		said := got.stdout + got.stderr
		assert.Contains(t, said, tc.says)
		assert.False(t, strings.ContainsFunc(said, rudeRune), "%q", said)
	})
}
