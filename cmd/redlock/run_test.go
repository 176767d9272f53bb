package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestTheCommandsExitStatusIsPassedThroughAndNothingIsSaid(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	for script, want := range map[string]result{
		"true":                          {},
		"exit 3":                        {code: 3},
		"exit 64":                       {code: 64},
		"exit 70":                       {code: 70},
		"exit 255":                      {code: 255},
		"kill -KILL $$":                 {code: 128 + 9},
		"kill -SEGV $$":                 {code: 128 + 11},
		"trap 'exit 7' TERM; kill $$":   {code: 7},
		"echo out; echo err >&2; false": {1, "out\n", "err\n"},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"run", "lead"} {
				assert.Equal(t, want, redlock(t, masters, command, script, "--", "sh", "-c", script), command)
				assert.True(t, free(t, masters, script), "unlocked by %s", command)
			}
		})
	}
}

func TestRunHoldsTheLockWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	p, end := hold(t, masters, "name")
	token := heldEverywhere(t, masters, "name")
	by := `redlock: name is held by ` + regexp.QuoteMeta(token[:strings.LastIndex(token, ":")]) +
		` \(mutex\), \S+ left unless it is extended; `

	for flags, says := range map[string]string{
		"--try":     by + "without --try, redlock waits for it",
		"--wait=0":  by + "with a longer --wait, redlock waits for it",
		"--wait=2s": `(redlock: waiting [^\n]*\n)?` + by + `gave up after 2s \(--wait\)`,
	} {
		got := redlock(t, masters, "run", flags, "name", "--", "echo", "must not run")
		got.fails(t, 75)
		assert.Regexp(t, "^"+says+"\n$", got.stderr)
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
	const report = `redlock: waiting \d+(\.\d)?s for name: held by "the night shift", \S+ left unless it is extended\n`
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
	young := launch(t, masters, "run", "--ttl", "6s", "name", "--", "echo", "my turn")
	assert.Equal(t, 0, young.wait())
	assert.Regexp(t, `^redlock: waiting \d+(\.\d)?s for name: 2 of 5 masters may vote, 3 are needed; `+
		`they restarted within the restart window, and may vote in \S+\n$`, young.stderr.String())
}

func TestRunWithoutAMajority(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	stopAll(masters[:3])
	for _, flag := range []string{"--try", "--wait=2s"} {
		got := redlock(t, masters, "run", flag, "name", "--", "echo", "must not run")
		got.fails(t, 69, "no majority of the masters answered", "connection refused", "redlock status")
	}
	n, _ := votes(t, masters, "name")
	assert.Zero(t, n, "what the minority granted is released")
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
	redlock(t, masters, "lead", "held", "--", "/no/such/command").fails(t, 127)
	redlock(t, masters, "run", "held", "--", plain).fails(t, 126, plain)
	redlock(t, masters, "run", "held", "--", filepath.Dir(plain)).fails(t, 126, "is a directory")
	for _, minHold := range []string{"0s", "1h"} {
		redlock(t, masters, "run", "--min-hold", minHold, "name", "--", broken).fails(t, 127, broken)
		assert.True(t, free(t, masters, "name"), "a minimum hold of %s", minHold)
	}
}

func TestRunReportsAnUnconfirmedRelease(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p, end := hold(t, masters, "name", "--node-timeout", "1s") // the release waits for it
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
		got := redlock(t, nil, "run", "--without-restart-guard", "--masters", strings.Join(redisproc.URLs(servers), ","),
			"--wait", "3s", "x", "--", "true")
		assert.NotContains(t, got.stderr, "free")
		return got
	}
	wait(well[0], full[0], full[1]).fails(t, 69, "2 of 3 masters refuse the lock: 127.0.0.1:")
	wait(full[0]).fails(t, 69, "1 of 1 masters refuse the lock: "+full[0].Addr()+": OOM command")
	assert.Equal(t, result{}, wait(well[1], well[2], full[0]))
}

// A run inside a run for the same name would wait for itself.
func TestARunDoesNotWaitForItself(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	of := " --masters " + joined(masters)
	replacer := strings.NewReplacer("RUN", binary+" run"+of, "LEAD", binary+" lead"+of, "NAME", `"$REDLOCK_NAME"`,
		"FILE", filepath.Join(t.TempDir(), "said"))
	const itself = "is held by the redlock that started this command and waits for it"
	type testCase struct {
		flags  string // of the outer run
		script string // NAME is the name of the outer run
		code   int
		stdout string
		says   string
	}
	testmain.Each(t, map[string]testCase{
		"at once":             {"", "RUN NAME -- true", 64, "", itself},
		"with --wait":         {"", "RUN --wait 1h NAME -- true", 64, "", itself},
		"quietly":             {"", "RUN -q NAME -- true", 64, "", itself},
		"with --try":          {"", "RUN --try NAME -- true", 75, "", "for the redlock that started"},
		"two levels down":     {"", "RUN inner -- RUN NAME -- true", 64, "", itself},
		"lead":                {"", "LEAD NAME -- true", 64, "", itself},
		"a writer in readers": {"--shared", "RUN NAME -- true", 64, "", itself},
		"a reader in readers": {"--shared", "RUN --shared NAME -- echo both", 0, "both\n", ""},
		"permits":             {"--slots=2", "RUN --slots 2 NAME -- echo both", 0, "both\n", ""},
		"the only permit":     {"--slots=1", "RUN --slots 1 NAME -- true", 64, "", itself},
		"the last permit":     {"--slots=2", "RUN --slots 2 NAME -- RUN --slots 2 NAME -- true", 64, "", itself},
		"another name":        {"", "RUN NAME2 -- echo both", 0, "both\n", ""},
		"in the background": {
			"", "unset REDLOCK_TOKEN; RUN -v NAME -- true 2>FILE & " +
				"until grep -qs waiting FILE; do sleep 0.01; done; kill $!; wait $!", 128 + 15, "", "",
		},
	}, func(t *testing.T, tc testCase) {
		args := append(append([]string{"run"}, strings.Fields(tc.flags)...), "a "+t.Name(), "--", "sh", "-c")
		got := redlock(t, masters, append(args, replacer.Replace(tc.script))...)
		assert.Equal(t, tc.code, got.code, got.stderr)
		assert.Equal(t, tc.stdout, got.stdout)
		assert.Contains(t, got.stderr, tc.says)
		assert.Equal(t, tc.says == "", got.stderr == "")
	})
}

// It notices that also if no majority answers at first.
func TestARunDoesNotWaitForItselfAfterAnOutage(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	p := launch(t, masters, "run", "--ttl", "1m", "--pass-masters", "name", "--", "sh", "-c",
		`echo holding; while [ $(`+binary+` status | grep -c yes) -gt 1 ]; do :; done; exec `+binary+` run name -- true`)
	p.says("holding")
	heldEverywhere(t, masters, "name")
	masters[0].Freeze()
	masters[1].Freeze()
	p.await("redlock: waiting", &p.stderr) // for a second
	masters[0].Thaw()
	masters[1].Thaw()
	assert.Equal(t, 64, p.wait())
	assert.Contains(t, p.stderr.String(), "is held by the redlock that started this command and waits for it")
}

// A reader inside a reader waits for a writer that waits for the outer reader. It says so.
func TestAReaderSaysThatAWriterWaitsForItsOuterReader(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	writers := filepath.Join(t.TempDir(), "writers")
	run := binary + " run --masters " + joined(masters)
	p := launch(t, masters, "run", "--shared", "name", "--", "sh", "-c", "(unset REDLOCK_TOKEN; exec "+run+
		" -v name -- true) 2>"+writers+" & until grep -qs waiting "+writers+"; do sleep 0.01; done; exec "+run+
		" --shared name -- true")
	p.await("an exclusive waiter is ahead, and it waits for the redlock that started this command; held by", &p.stderr)
	p.signal(syscall.SIGTERM)
	assert.Contains(t, []int{0, 128 + 15}, p.wait(), "0: the writer ends first, and the reader still locks")
}

func TestNamesThatBeginWithADash(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	type testCase struct {
		args []string
		code int
		says string
	}
	testmain.Each(t, map[string]testCase{
		"run":                        {[]string{"run", "--", "-x", "--", "sh", "-c", `echo "$REDLOCK_NAME"`}, 0, "-x\n"},
		"run, the name of a flag":    {[]string{"run", "--", "--try", "--", "printenv", "REDLOCK_NAME"}, 0, "--try\n"},
		"a command with dashes":      {[]string{"run", "--", "-x", "--", "echo", "--", "-y"}, 0, "-- -y\n"},
		"a plain name":               {[]string{"run", "--", "y", "--", "echo", "runs"}, 0, "runs\n"},
		"a command with dashes only": {[]string{"run", "z", "--", "echo", "--", "-y"}, 0, "-- -y\n"},
		"lead":                       {[]string{"lead", "--", "-l", "--", "sh", "-c", `echo "$REDLOCK_NAME"`}, 0, "-l\n"},
		"status":                     {[]string{"status", "--", "-s"}, 0, "-s: free\n"},
		"release":                    {[]string{"release", "--", "-x", "-token"}, 70, "does not have the token for -x"},
		"without dashes":             {[]string{"run", "-x", "--", "true"}, 64, "that begins with a dash comes after --"},
		"no second dashes":           {[]string{"run", "--", "-x", "true"}, 64, "a name is missing"},
		"two names":                  {[]string{"run", "--", "-x", "y", "--", "true"}, 64, `["-x" "y"]: there is one name`},
		"no command":                 {[]string{"run", "--", "-x", "--"}, 64, "a command is missing"},
		"no name":                    {[]string{"run", "--", "--", "true"}, 64, "a name is missing"},
		"an empty name":              {[]string{"run", "--", "", "--", "true"}, 64, "the name is empty"},
	}, func(t *testing.T, tc testCase) {
		got := redlock(t, masters, tc.args...)
		assert.Equal(t, tc.code, got.code, got.stderr)
		assert.Contains(t, got.stdout+got.stderr, tc.says)
	})
}
