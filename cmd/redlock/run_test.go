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
	for script, want := range map[string]result{
		"true":                          {},
		"exit 3":                        {code: 3},
		"exit 64":                       {code: 64},
		"exit 255":                      {code: 255},
		"kill -KILL $$":                 {code: 128 + 9},
		"kill -SEGV $$":                 {code: 128 + 11},
		"trap 'exit 7' TERM; kill $$":   {code: 7},
		"echo out; echo err >&2; false": {1, "out\n", "err\n"},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, want, redlock(t, masters, "run", script, "--", "sh", "-c", script))
			assert.True(t, free(t, masters, script), "unlocked")
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

	for flags, advice := range map[string]string{
		"--try":        "without --try, redlock waits for it",
		"--wait=0":     "with a longer --wait, redlock waits for it",
		"--wait=300ms": `gave up after 300ms \(--wait\)`,
	} {
		got := redlock(t, masters, "run", flags, "name", "--", "echo", "must not run")
		got.fails(t, 75)
		assert.Regexp(t, "^"+by+advice+"\n$", got.stderr)
	}
	other := redlock(t, masters, "run", "--try", "another name", "--", "echo", "runs")
	assert.Equal(t, result{0, "runs\n", ""}, other)

	end()
	assert.Equal(t, 0, p.wait())
	assert.Contains(t, p.stdout.String(), "released")
	assert.True(t, free(t, masters, "name"))
}

// A wait of more than a second is explained once where stderr is no terminal.
func TestALongWaitInAPipeIsReported(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	_, end := hold(t, masters, "name", "--owner", "the night shift")
	const report = `redlock: waiting 1\.\ds for name: held by "the night shift", \S+ left unless it is extended\n`
	waiting := []*process{
		launch(t, masters, "run", "name", "--", "echo", "my turn"),
		launch(t, masters, "run", "--wait", "1m", "name", "--", "echo", "my turn"),
	}
	for _, p := range waiting {
		p.await("\n", &p.stderr)
	}
	time.Sleep(1200 * time.Millisecond) // for a second report
	end()
	for _, p := range waiting {
		assert.Equal(t, 0, p.wait())
		assert.Equal(t, "my turn\n", p.stdout.String())
		assert.Regexp(t, "^"+report+"$", p.stderr.String())
	}

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

func TestRunLocksNothingForACommandThatCannotRun(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	hold(t, masters, "held") // would be waited for
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, []byte("text"), 0o600))
	// An executable without an interpreter is found, but cannot be started. Then redlock unlocks.
	broken := filepath.Join(t.TempDir(), "broken")
	require.NoError(t, os.WriteFile(broken, []byte("#!/no/such/interpreter\n"), 0o700))

	redlock(t, masters, "run", "held", "--", "no-such-command-here").fails(t, 127, "no-such-command-here")
	redlock(t, masters, "run", "held", "--", plain).fails(t, 126, plain)
	redlock(t, masters, "run", "held", "--", filepath.Dir(plain)).fails(t, 126, "is a directory")
	redlock(t, masters, "run", "name", "--", broken).fails(t, 127, broken)
	assert.True(t, free(t, masters, "name"))
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
	wait := func(servers ...*redisproc.Server) result {
		return redlock(t, nil, "run", "--without-restart-guard", "--masters", strings.Join(redisproc.URLs(servers), ","),
			"--wait", "2s", "x", "--", "true")
	}
	majority := wait(well[0], full[0], full[1])
	majority.fails(t, 69, "2 of 3 masters refuse the lock: 127.0.0.1:")
	assert.NotContains(t, majority.stderr, "free")
	one := wait(full[0])
	one.fails(t, 69, "1 of 1 masters refuse the lock: "+full[0].Addr()+": OOM command")
	assert.NotContains(t, one.stderr, "free")
	assert.Equal(t, result{}, wait(well[1], well[2], full[0]))
}
