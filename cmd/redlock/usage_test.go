package main_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// flagCase is a call of redlock in which a flag, or its variable, has a value that the outcome shows. In args, env and
// says, NAME is a free name, HELD one that is held, UP and DOWN are lists of masters, FIRST and REST the parts of UP,
// and UPFILE and DOWNFILE files of the lists.
type flagCase struct {
	args   string // separated by spaces
	script string // of the command, if it is a shell
	env    string // variables, separated by spaces; without it, $REDLOCK_MASTERS is UP
	code   int
	says   string // a regular expression of stdout and stderr
}

// flagCases have each flag with a value that matters, and each variable with another value.
func flagCases() map[string]flagCase {
	const show = `echo "fence=$REDLOCK_FENCE"; REDLOCK status --masters UP NAME`
	const up, down = "REDLOCK_MASTERS=UP", "REDLOCK_MASTERS=DOWN"
	const low = up + " REDLOCK_MAX_TTL=10s"
	return map[string]flagCase{
		"--masters":          {"status --masters UP", "", down, 0, "3 of 3 may vote"},
		"--masters, file":    {"status --masters UP", "", "REDLOCK_MASTERS_FILE=DOWNFILE", 0, "3 of 3 may vote"},
		"--masters, twice":   {"status --masters FIRST --masters REST", "", down, 0, "3 of 3 may vote"},
		"$MASTERS":           {"status", "", down, 69, "0 of 3 may vote"},
		"--masters-file":     {"status --masters-file UPFILE", "", "REDLOCK_MASTERS_FILE=DOWNFILE", 0, "3 of 3 may vote"},
		"--masters-file, $":  {"status --masters-file UPFILE", "", down, 0, "3 of 3 may vote"},
		"$MASTERS_FILE":      {"status", "", "REDLOCK_MASTERS_FILE=DOWNFILE", 69, "0 of 3 may vote"},
		"$MASTERS, both":     {"status", "", "REDLOCK_MASTERS=UP REDLOCK_MASTERS_FILE=UPFILE", 64, "two lists"},
		"$MASTERS, a mark":   {"status", "", "REDLOCK_MASTERS=\ufeffUP", 0, "3 of 3 may vote"}, // of a file's byte order
		"--embedded":         {"run --embedded NAME -- echo runs", "", down, 0, "^runs\n$"},
		"--ttl":              {"run --ttl 40s NAME -- sh -c", show, "", 0, ` 3\ds left`},
		"--node-timeout":     {"status --node-timeout 5s --ttl 1s NAME", "", "", 64, "one node timeout .5s. take off it"},
		"--max-ttl":          {"status --node-timeout 4s --ttl 20s --max-ttl 30s NAME", "", low, 0, "NAME: free"},
		"$MAX_TTL":           {"status --ttl 20s NAME", "", low, 64, "20s is above --max-ttl 10s"},
		"--max-ttl, short":   {"status --node-timeout 2s --max-ttl 5s NAME", "", "", 0, "NAME: free"},
		"$MAX_TTL, a run":    {"run --node-timeout 1s NAME -- sh -c", show, up + " REDLOCK_MAX_TTL=5s", 0, ` [34]\.\ds left`},
		"$MAX_TTL, no time":  {"status NAME", "", up + " REDLOCK_MAX_TTL=soon", 64, `\$REDLOCK_MAX_TTL: .*soon`},
		"without the guard":  {"status --without-restart-guard --node-timeout 2s --ttl 20s NAME", "", low, 0, "NAME: free"},
		"--owner":            {"run --owner night NAME -- sh -c", show, up + " REDLOCK_OWNER=day", 0, "held by night "},
		"$OWNER":             {"run NAME -- sh -c", show, up + " REDLOCK_OWNER=day", 0, "held by day "},
		"--fence":            {"run --fence NAME -- sh -c", show, "", 0, `fence=\d{16}\n`},
		"without --fence":    {"run NAME -- sh -c", show, "", 0, `fence=\n`},
		"without, inside":    {"run --fence --pass-masters outer -- REDLOCK run NAME -- sh -c", show, "", 0, `fence=\n`},
		"--wait, too short":  {"run --wait 10ms NAME -- true", "", down, 69, "no majority .* answered"},
		"--wait, no answer":  {"run --wait 10ms NAME -- true", "", "REDLOCK_MASTERS=DEAF", 69, "no majority .* answered"},
		"--skip-status":      {"run --skip-status 9 --try HELD -- true", "", "", 9, "HELD is held by"},
		"--skip-status 0":    {"run --skip-status 0 --wait 2s HELD -- true", "", "", 0, "gave up after 2s"},
		"not skipped":        {"run --skip-status 9 --try NAME -- sh -c", "exit 75", "", 75, "^$"},
		"skip, no majority":  {"run --skip-status 9 --try NAME -- true", "", down, 69, "no majority"},
		"--quiet":            {"run --quiet --try HELD -- true", "", "", 75, "^$"},
		"-q, waiting":        {"run -q --wait 3s --skip-status 3 HELD -- true", "", "", 3, "^$"},
		"quiet, no majority": {"run --quiet --try NAME -- true", "", down, 69, "no majority"},
		"--min-hold":         {"run --min-hold 9s NAME -- true", "", "", 0, "^$"}, // see TestReleaseOfAMinimumHold
		"--grace": {
			"run --max-hold 4s --grace 100ms NAME -- sh -c", "trap '' TERM; while :; do sleep 0.02; done", "",
			70, "signal 9",
		},
		// The masters' URLs may have passwords.
		"without --pass-masters": {
			"run NAME -- sh -c", `{ env; cat /proc/$PPID/environ /proc/$PPID/cmdline 2>/dev/null; } | grep -a redis:/[/]`,
			"", 1, "^$",
		},
		"--pass-masters": {"run --pass-masters NAME -- printenv REDLOCK_MASTERS", "", "", 0, "^UP\n$"},
		"inside --masters": {
			"run --masters UP --pass-masters NAME -- REDLOCK status", "", "NO=MASTERS",
			64, "^redlock: (?s:.*)only with --pass-masters, and never the URLs of --masters\n$",
		},
		"--verbose": {"run --verbose NAME -- true", "", "", 0, "msg=locked"},
		"-v":        {"run -v NAME -- true", "", "", 0, "msg=locked(?s:.*)msg=unlocked"},
	}
}

func TestEachFlagHasItsEffect(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	hold(t, masters, "held")
	deafs, _ := deaf(t, 3)
	const down = "redis://127.0.0.1:1,redis://127.0.0.1:2,redis://127.0.0.1:3"
	file := func(list string) string {
		path := filepath.Join(t.TempDir(), "masters")
		require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(list, ",", "\n")), 0o600))
		return path
	}
	upFile, downFile, n := file(joined(masters)), file(down), 0
	for name, tc := range flagCases() {
		n++
		replacer := strings.NewReplacer("NAME", fmt.Sprintf("name-%d", n), "HELD", "held",
			"UPFILE", upFile, "DOWNFILE", downFile,
			"FIRST", masters[0].URL(), "REST", joined(masters[1:]), "UP", joined(masters), "DOWN", down,
			"DEAF", deafs, "REDLOCK_", "REDLOCK_", "REDLOCK", binary)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(replacer.Replace(tc.args))
			if tc.script != "" {
				args = append(args, replacer.Replace(tc.script))
			}
			if tc.env == "" {
				tc.env = "REDLOCK_MASTERS=UP"
			}
			p := launchWith(t, nil, func(c *exec.Cmd) {
				for variable := range strings.FieldsSeq(tc.env) {
					name, value, _ := strings.Cut(variable, "=")
					c.Env = append(c.Env, name+"="+replacer.Replace(value))
				}
			}, args...)
			code := p.wait()
			said := p.stdout.String() + p.stderr.String()
			assert.Equal(t, tc.code, code, said)
			assert.Regexp(t, replacer.Replace(tc.says), said)
		})
	}
}

// Every flag of every command is in flagCases, or in another test of its effect.
func TestEveryFlagIsTested(t *testing.T) {
	t.Parallel()
	elsewhere := map[string]string{
		"tls-ca": "masters_test.go", "tls-cert": "masters_test.go", "tls-key": "masters_test.go",
		"tls-server-name": "masters_test.go", "watch": "terminal_test.go", "nodes": "dev_test.go", "port": "dev_test.go",
		"help": "usage_test.go", "shared": "status_test.go", "slots": "status_test.go", "json": "status_test.go",
	}
	var tested strings.Builder
	for _, tc := range flagCases() {
		tested.WriteString(tc.args + "\n")
	}
	for flag, file := range elsewhere {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(text), "--"+flag, file)
	}
	for _, command := range []string{"run", "lead", "status", "doctor", "release", "dev"} {
		help := redlock(t, nil, command, "--help").stdout
		flags := regexp.MustCompile(`(?m)^ +(?:-\w, )?--([\w-]+)`).FindAllStringSubmatch(help, -1)
		require.NotEmpty(t, flags)
		for _, flag := range flags {
			assert.True(t, elsewhere[flag[1]] != "" || strings.Contains(tested.String(), "--"+flag[1]+" "),
				"%s --%s", command, flag[1])
		}
	}
}
