package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

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
		"without --pass-masters": {"run NAME -- printenv REDLOCK_MASTERS", "", "", 1, "^$"},
		"--pass-masters":         {"run --pass-masters NAME -- printenv REDLOCK_MASTERS", "", "", 0, "^UP\n$"},
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
		"tls-ca": "secure_test.go", "tls-cert": "secure_test.go", "tls-key": "secure_test.go",
		"tls-server-name": "secure_test.go", "watch": "terminal_test.go", "nodes": "dev_test.go", "port": "dev_test.go",
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
