package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestRunPassesTheExitStatusThroughAndSaysNothing(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	for script, want := range map[string]int{
		"true":                          0,
		"exit 3":                        3,
		"exit 64":                       64,
		"exit 255":                      255,
		"kill -KILL $$":                 128 + 9,
		"kill -SEGV $$":                 128 + 11,
		"trap 'exit 7' TERM; kill $$":   7,
		"echo out; echo err >&2; false": 1,
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			got := redlock(t, masters, "run", script, "--", "sh", "-c", script)
			assert.Equal(t, want, got.code)
			if strings.Contains(script, "echo") {
				assert.Equal(t, "out\n", got.stdout)
				assert.Equal(t, "err\n", got.stderr)
			} else {
				assert.Empty(t, got.stdout)
				assert.Empty(t, got.stderr)
			}
			n, _ := votes(t, masters, script)
			assert.Zero(t, n, "unlocked")
		})
	}
}

func TestRunHoldsTheLockWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	p, end := hold(t, masters, "name")
	token := heldEverywhere(t, masters, "name")
	by := `redlock: name is held by ` + regexp.QuoteMeta(
		token[:strings.LastIndex(token, ":")],
	) + ` \(mutex\), \S+ left unless it is extended; `

	tried := redlock(t, masters, "run", "--try", "name", "--", "echo", "must not run")
	assert.Equal(t, 75, tried.code)
	assert.Empty(t, tried.stdout)
	assert.Regexp(t, "^"+by+"without --try, redlock waits for it\n$", tried.stderr)
	tried = redlock(t, masters, "run", "--wait", "0", "name", "--", "echo", "must not run")
	assert.Equal(t, 75, tried.code)
	assert.Regexp(t, "^"+by+"with a longer --wait, redlock waits for it\n$", tried.stderr)

	waited := redlock(t, masters, "run", "--wait", "300ms", "name", "--", "echo", "must not run")
	assert.Equal(t, 75, waited.code)
	assert.Empty(t, waited.stdout)
	assert.Regexp(t, "^"+by+`gave up after 300ms \(--wait\)\n$`, waited.stderr)

	other := redlock(t, masters, "run", "--try", "another name", "--", "echo", "runs")
	assert.Equal(t, 0, other.code)
	assert.Equal(t, "runs\n", other.stdout)

	end()
	assert.Equal(t, 0, p.wait())
	assert.Contains(t, p.stdout.String(), "released")
	n, _ := votes(t, masters, "name")
	assert.Zero(t, n)
}

func TestRunWaitsItsTurn(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	first, end := hold(t, masters, "name")
	second := launch(t, masters, "run", "name", "--", "echo", "my turn")
	third := launch(t, masters, "run", "--wait", "1m", "name", "--", "echo", "my turn")
	select {
	case <-second.ended:
		t.Fatal("it did not wait")
	case <-third.ended:
		t.Fatal("it did not wait")
	case <-time.After(300 * time.Millisecond):
	}
	end()
	for _, p := range []*process{first, second, third} {
		assert.Equal(t, 0, p.wait())
	}
	assert.Equal(t, "my turn\n", second.stdout.String())
	assert.Equal(t, "my turn\n", third.stdout.String())
}

// A wait of more than a second is explained once where stderr is no terminal.
func TestALongWaitInAPipeIsReported(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	_, end := hold(t, masters, "name", "--owner", "the night shift")
	p := launch(t, masters, "run", "name", "--", "echo", "my turn")
	const report = `redlock: waiting 1\.\ds for name: held by "the night shift", \S+ left unless it is extended\n`
	require.Eventually(
		t, func() bool { return regexp.MustCompile(report).MatchString(p.stderr.String()) }, patience, time.Millisecond,
	)
	time.Sleep(1200 * time.Millisecond) // for a second report
	end()
	assert.Equal(t, 0, p.wait())
	assert.Regexp(t, "^"+report+"$", p.stderr.String())

	for _, m := range masters[:3] {
		m.Stop()
		m.Start()
	}
	young := launch(t, masters, "run", "--ttl", "3s", "name", "--", "echo", "my turn")
	assert.Equal(t, 0, young.wait())
	assert.Regexp(t, `^redlock: waiting \d+\.\ds for name: 2 of 5 masters may vote, 3 are needed; `+
		`they restarted within the restart window, and may vote in \S+\n$`, young.stderr.String())
}

func TestRunGivesTheCommandNameTokenAndStdin(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	p := launchWith(t, masters, func(c *exec.Cmd) {
		c.Stdin = r
		c.Env = append(c.Env, "REDLOCK_NAME=stale", "REDLOCK_TOKEN=stale", "OTHER=kept")
	}, "run", "orders: 42", "--", "sh", "-c",
		`echo "name=$REDLOCK_NAME token=$REDLOCK_TOKEN other=$OTHER n=$(env | grep -c REDLOCK_TOKEN)"; `+
			`read line; echo "read $line"`)
	require.NoError(t, r.Close())
	p.says("n=1\n")
	token := heldEverywhere(t, masters, "orders: 42")
	assert.Equal(t, "name=orders: 42 token="+token+" other=kept n=1\n", p.stdout.String())
	_, err = w.WriteString("a line\n")
	require.NoError(t, err)
	assert.Equal(t, 0, p.wait())
	assert.Contains(t, p.stdout.String(), "read a line\n")
}

func TestRunWithoutAMajority(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	for _, m := range masters[:3] {
		m.Stop()
	}
	for _, flags := range [][]string{{"--try"}, {"--wait", "300ms"}} {
		got := redlock(t, masters, append(append([]string{"run"}, flags...), "name", "--", "echo", "must not run")...)
		assert.Equal(t, 69, got.code, flags)
		assert.Empty(t, got.stdout)
		assert.Contains(t, got.stderr, "no majority of the masters answered")
		assert.Contains(t, got.stderr, "connection refused")
		assert.Contains(t, got.stderr, "redlock status")
	}
	n, _ := votes(t, masters, "name")
	assert.Zero(t, n, "what the minority granted is released")
}

func TestRunLocksNothingForACommandThatCannotRun(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	_, end := hold(t, masters, "name") // would be waited for
	defer end()
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, []byte("text"), 0o600))

	got := redlock(t, masters, "run", "name", "--", "no-such-command-here")
	assert.Equal(t, 127, got.code)
	assert.Contains(t, got.stderr, "no-such-command-here")
	got = redlock(t, masters, "run", "name", "--", plain)
	assert.Equal(t, 126, got.code)
	assert.Contains(t, got.stderr, plain)
	got = redlock(t, masters, "run", "name", "--", filepath.Dir(plain))
	assert.Equal(t, 126, got.code)
	assert.Contains(t, got.stderr, "is a directory")
}

// An executable without an interpreter is found, but cannot be started.
func TestRunUnlocksIfTheCommandCannotBeStarted(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("#!/no/such/interpreter\n"), 0o700))

	got := redlock(t, masters, "run", "name", "--", broken)
	assert.Equal(t, 127, got.code)
	assert.Contains(t, got.stderr, broken)
	n, _ := votes(t, masters, "name")
	assert.Zero(t, n)
}

func TestRunReportsAnUnconfirmedRelease(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p, end := hold(t, masters, "name")
	masters[0].Freeze()
	masters[1].Freeze()
	end()
	assert.Equal(t, 0, p.wait(), "the command's own")
	assert.Contains(t, p.stderr.String(), "release is not confirmed")
}

// A run that waits for masters which may vote but refuse the lock says why they do, and not that the name is free.
func TestAWaitSaysWhyTheMastersRefuse(t *testing.T) {
	t.Parallel()
	full := redisproc.ForTest(t, 2, "--maxmemory", "1")
	well := redisproc.ForTest(t, 3)
	for name, tc := range map[string]struct {
		urls []string
		says string
	}{
		"a majority": {
			append(redisproc.URLs(well[:1]), redisproc.URLs(full)...), "2 of 3 masters refuse the lock: 127.0.0.1:",
		},
		"one of one": {redisproc.URLs(full[:1]), "1 of 1 masters refuse the lock: " + full[0].Addr() + ": OOM command"},
		"a minority": {append(redisproc.URLs(well[:2]), full[0].URL()), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := redlock(t, nil, "run", "--without-restart-guard", "--masters", strings.Join(tc.urls, ","), "--wait", "2s",
				"x", "--", "true")
			if tc.says == "" {
				assert.Empty(t, got.stderr)
				return
			}
			assert.Contains(t, got.stderr, tc.says)
			assert.NotContains(t, got.stderr, "free")
			assert.Equal(t, 69, got.code)
		})
	}
}
