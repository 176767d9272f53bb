package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	redlocker "github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/need"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	const urls = "redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"
	type testCase struct {
		args string // URLS is a list of masters
		says string
	}
	testmain.Each(t, map[string]testCase{
		"no command":              {"", "which command"},
		"unknown command":         {"lock x", "unknown command \"lock\" for \"redlock\"\nsee redlock --help\n"},
		"a typo":                  {"rum x", "\n\nDid you mean this?\n  run\nsee redlock --help\n"},
		"unknown flag":            {"run --lease 3 x -- true", "--lease"},
		"no name":                 {"run -- true", "a name is missing"},
		"nothing":                 {"run", "a name is missing"},
		"lead without a command":  {"lead x", "redlock lead [flags] NAME -- COMMAND"},
		"lead does not try":       {"lead --try x -- true", "--try"},
		"no dashes":               {"run x true", "put --"},
		"no command to run":       {"run x --", "a command is missing"},
		"two names":               {"run x y -- true", "one name"},
		"bad duration":            {"run --ttl soon x -- true", "soon"},
		"negative wait":           {"run --wait -1s x -- true", "--wait -1s"},
		"try and wait":            {"run --try --wait 1s x -- true", "one of them"},
		"two lists of masters":    {"status --masters URLS --masters-file f", "two lists"},
		"no masters file":         {"status --masters-file /no/such/file", "/no/such/file"},
		"an empty masters file":   {"status --masters-file " + os.DevNull, "has no URL"},
		"certificate without key": {"status --masters rediss://h --tls-cert f", "belong together"},
		"no authorities":          {"status --masters rediss://h --tls-ca /no/such/file", "--tls-ca: "},
		"empty authorities":       {"status --masters rediss://h --tls-ca " + os.DevNull, "no certificate in PEM"},
		"no certificate":          {"status --masters rediss://h --tls-cert /no --tls-key f", "--tls-cert and --tls-key"},
		"TLS and no rediss":       {"status --masters URLS --tls-server-name h", "rediss://"},
		"a long owner":            {"run --masters URLS --owner " + strings.Repeat("o", 1025) + " x -- true", "1024"},
		"negative grace":          {"run --grace -1s x -- true", "--grace -1s"},
		"negative max hold":       {"run --masters URLS --max-hold -1s x -- true", "--max-hold -1s"},
		"TTL zero":                {"run --masters URLS --ttl 0 x -- true", "--ttl 0s"},
		"TTL below the least":     {"run --masters URLS --ttl 20ms x -- true", "TTL 20ms"},
		"TTL above the window": {
			"run --masters URLS --ttl 1m --max-ttl 10s x -- true", "--ttl 1m0s is above --max-ttl 10s: set --max-ttl to 1m0s",
		},
		"max TTL below zero":       {"status --masters URLS --max-ttl -1s", "--max-ttl -1s"},
		"node timeout zero":        {"run --masters URLS --node-timeout 0 x -- true", "--node-timeout 0s"},
		"a reserved name":          {"run --masters URLS redlock:fence:x -- true", "redlock:fence:"},
		"a reserved name's status": {"status --masters URLS redlock:intents:x", "redlock:intents:"},
		"its release":              {"release --masters URLS redlock:fence:x token", "redlock:fence:"},
		"no masters":               {"run x -- true", "REDLOCK_MASTERS"},
		"no masters for status":    {"status", "REDLOCK_MASTERS"},
		"two masters":              {"status --masters redis://127.0.0.1:1,redis://127.0.0.1:2", "2"},
		"one master twice":         {"status --masters redis://h:1,redis://h:2,redis://h:1", "h:1"},
		"watch without a terminal": {"status --watch --masters URLS", "needs a terminal"},
		"watch and JSON":           {"status --watch --json --masters URLS", "one of them"},
		"unknown scheme":           {"status --masters http://h:1", "http"},
		"masters twice over":       {"run --embedded --masters URLS x -- true", "--embedded"},
		"embedded with TLS":        {"run --embedded --tls-ca f x -- true", "--embedded"},
		"even dev":                 {"dev --nodes 4", "--nodes 4"},
		"no dev":                   {"dev --nodes 0", "--nodes 0"},
		"dev beyond the last port": {"dev --port 65534", "--port 65534"},
		"dev takes no arguments":   {"dev 5", "no arguments"},
		"release of nothing":       {"release", "redlock release [flags] NAME TOKEN"},
		"release without a token":  {"release name", "redlock release [flags] NAME TOKEN"},
		"two tokens":               {"release name token more", "redlock release [flags] NAME TOKEN"},
	}, func(t *testing.T, tc testCase) {
		got := redlock(t, nil, strings.Fields(strings.ReplaceAll(tc.args, "URLS", urls))...)
		got.fails(t, 64, tc.says)
		assert.NotContains(t, got.stderr, "With", "the text names flags, not Go options")
	})
	redlock(t, nil, "run", "", "--", "true").fails(t, 64, "name is empty")
	redlock(t, nil, "status", "").fails(t, 64, "name is empty")
	redlock(t, nil, "release", "", "token").fails(t, 64, "redlock release [flags] NAME TOKEN")
	redlock(t, nil, "release", "name", "").fails(t, 64, "redlock release [flags] NAME TOKEN")
}

// The error of Open about a URL is shown unchanged, for example which query parameter is unknown.
func TestTheErrorOfAURLIsShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://h:1?max_retries=3", "redis://h:1?foo=bar", "redis://h:1/db", "h:1"} {
		_, err := redlocker.Open([]string{url})
		require.Error(t, err)
		want := result{64, "", "redlock: " + strings.TrimPrefix(err.Error(), "redlock: ") + "\n"}
		assert.Equal(t, want, redlock(t, nil, "status", "--masters", url))
	}
}

// No error shows the password: of a master that is down, of an invalid URL, or of a refused password.
func TestAPasswordIsNeverPrinted(t *testing.T) {
	t.Parallel()
	host := addr(redlocktest.Start(t, 1)[0])
	forms := [][]string{
		{"status", "--node-timeout", "500ms", "x"},
		{"run", "--node-timeout", "500ms", "-v", "--try", "x", "--", "true"},
		{"status", "--node-timeout", "500ms", "--json"},
		{"run", "--node-timeout", "500ms", "-v", "--wait", "100ms", "x", "--", "true"},
	}
	for i, url := range []string{
		"redis://:s3cret@" + host, "redis://user:s3cret@" + host, "redis://user:s3cret@127.0.0.1:1",
		"http://user:s3cret@127.0.0.1:1", "redis://user:s3cret@", "redis://user:s3cret@127.0.0.1:port",
		"redis://user:s3cret@127.0.0.1/db", "redis://user:s3cret@127.0.0.1:1?max_retries=3",
		"redis://user:s3cret@127.0.0.1 :1",
		"rediss://user:s3cret@" + host, "unix://user:s3cret@nowhere", "://user:s3cret@" + host,
		"redis://user:s3cret@" + host + "?client_name=s3cret", "redis://user:s3cret@127.0.0.1:1?client_name=s3cret",
		"redis://user:s3cret@127.0.0.1:1?tpyo=s3cret", "redis://user:s3cret@127.0.0.1:1/db?client_name=s3cret",
		"redis://user:s3cret@h?client_name=s3cret,redis://h2,redis://user:s3cret@h?client_name=s3cret",
	} {
		flag, env := forms[i%len(forms)], forms[(i+1)%len(forms)]
		for _, p := range []*process{
			launch(t, nil, append(flag[:1:1], append([]string{"--masters", url}, flag[1:]...)...)...),
			launchWith(t, nil, func(c *exec.Cmd) { c.Env = append(c.Env, "REDLOCK_MASTERS="+url) }, env...),
		} {
			p.wait()
			assert.NotContains(t, p.stdout.String()+p.stderr.String(), "s3cret", "%s %q %q", url, flag, env)
		}
	}
	for _, help := range [][]string{{"run", "--help"}, {"lead", "--help"}, {"status", "--help"}} {
		p := launchWith(t, nil, func(c *exec.Cmd) { c.Env = append(c.Env, "REDLOCK_MASTERS=redis://:s3cret@h") }, help...)
		assert.Equal(t, 0, p.wait())
		assert.NotContains(t, p.stdout.String(), "s3cret")
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	got := redlock(t, nil, "version")
	assert.Equal(t, 0, got.code)
	assert.Regexp(t, `^redlock \S+( \(.+\))? go1\.\d+\S* \w+/\w+\n$`, got.stdout)
	assert.Equal(t, got, redlock(t, nil, "--version"))
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := redlock(t, nil, "completion", shell)
		assert.Equal(t, 0, got.code)
		assert.Contains(t, got.stdout, "redlock")
	}
	complete := func(words ...string) string {
		return redlock(t, nil, append([]string{"__complete"}, words...)...).stdout
	}
	for _, command := range []string{"run", "status", "doctor", "dev", "version", "completion"} {
		assert.Contains(t, complete(""), command+"\t")
	}
	const noFiles, files = ":4", ":0"
	assert.Contains(t, complete("run", ""), noFiles, "a lock's name is no file")
	assert.Contains(t, complete("status", "x", ""), noFiles)
	assert.Contains(t, complete("run", "x", "--", ""), files, "a command's argument may be one")
}

// A terminal of 80 columns shows every help text without a break that was not meant.
func TestHelpHasEightyColumns(t *testing.T) {
	t.Parallel()
	commands := [][]string{nil}
	for i := 0; i < len(commands); i++ { // grows
		path := commands[i]
		help := redlock(t, nil, append(path[:len(path):len(path)], "--help")...)
		assert.Equal(t, 0, help.code)
		for line := range strings.Lines(help.stdout) {
			assert.LessOrEqual(t, len([]rune(strings.TrimRight(line, "\n"))), 80, "%q: %s", path, line)
		}
		_, available, _ := strings.Cut(help.stdout, "Available Commands:\n")
		available, _, _ = strings.Cut(available, "\n\n")
		for line := range strings.Lines(available) {
			commands = append(commands, append(path[:len(path):len(path)], strings.Fields(line)[0]))
		}
	}
	assert.Greater(t, len(commands), 10)
}

// What packages install is what the command prints.
func TestThePackagedFilesAreUpToDate(t *testing.T) {
	t.Parallel()
	for file, args := range map[string][]string{
		"redlock.1":    {"man"},
		"redlock.bash": {"completion", "bash"},
		"redlock.zsh":  {"completion", "zsh"},
		"redlock.fish": {"completion", "fish"},
	} {
		want := redlock(t, nil, args...)
		require.Equal(t, 0, want.code)
		got, err := os.ReadFile(filepath.Join("..", "..", "packaging", file))
		require.NoError(t, err)
		assert.Equal(t, want.stdout, strings.ReplaceAll(string(got), "\r\n", "\n"), "%s: run make package-files", file)
	}
}

func TestTheManualIsAManPage(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		need.SkipIf(t, need.Redis, errors.New("groff is not installed: apt-get install groff-base"))
	}
	out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", filepath.Join("..", "..", "packaging", "redlock.1")).
		CombinedOutput()
	require.NoError(t, err)
	assert.NotContains(t, string(out), "redlock.1:", "no warning of groff about a line of the file")
	assert.Contains(t, string(out), "REDLOCK_MASTERS_FILE")
}
