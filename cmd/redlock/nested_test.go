package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/redlocktest"
)

// A run inside a run for the same name would wait for itself.
func TestARunDoesNotWaitForItself(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	of := " --masters " + joined(masters) + " "
	run := binary + " run" + of
	said := filepath.Join(t.TempDir(), "said")
	const itself = "is held by the redlock that started this command and waits for it"
	for name, tc := range map[string]struct {
		flags  []string // of the outer run
		script string   // in which the outer run's name is $REDLOCK_NAME
		code   int
		stdout string
		says   string
	}{
		"at once":             {nil, run + `"$REDLOCK_NAME" -- true`, 64, "", itself},
		"with --wait":         {nil, run + `--wait 1h "$REDLOCK_NAME" -- true`, 64, "", itself},
		"quietly":             {nil, run + `-q "$REDLOCK_NAME" -- true`, 64, "", itself},
		"with --try":          {nil, run + `--try "$REDLOCK_NAME" -- true`, 75, "", "for the redlock that started"},
		"two levels down":     {nil, run + `inner -- ` + run + `"$REDLOCK_NAME" -- true`, 64, "", itself},
		"lead":                {nil, binary + " lead" + of + `"$REDLOCK_NAME" -- true`, 64, "", itself},
		"a writer in readers": {[]string{"--shared"}, run + `"$REDLOCK_NAME" -- true`, 64, "", itself},
		"a reader in readers": {[]string{"--shared"}, run + `--shared "$REDLOCK_NAME" -- echo both`, 0, "both\n", ""},
		"permits":             {[]string{"--slots", "2"}, run + `--slots 2 "$REDLOCK_NAME" -- echo both`, 0, "both\n", ""},
		"the only permit":     {[]string{"--slots", "1"}, run + `--slots 1 "$REDLOCK_NAME" -- true`, 64, "", itself},
		"the last permit": {
			[]string{"--slots", "2"},
			run + `--slots 2 "$REDLOCK_NAME" -- ` + run + `--slots 2 "$REDLOCK_NAME" -- true`, 64, "", itself,
		},
		"another name": {nil, run + `"$REDLOCK_NAME 2" -- echo both`, 0, "both\n", ""},
		"in the background": {
			nil, "unset REDLOCK_TOKEN; " + run + `-v "$REDLOCK_NAME" -- true 2>` + said + ` & until grep -qs waiting ` + said +
				`; do sleep 0.01; done; kill $!; wait $!`, 128 + 15, "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append(append([]string{"run"}, tc.flags...), "a "+name, "--", "sh", "-c", tc.script)
			got := redlock(t, masters, args...)
			assert.Equal(t, tc.code, got.code, got.stderr)
			assert.Equal(t, tc.stdout, got.stdout)
			if tc.says == "" {
				assert.Empty(t, got.stderr)
			} else {
				assert.Contains(t, got.stderr, tc.says)
			}
		})
	}
}

func TestNamesThatBeginWithADash(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	for name, tc := range map[string]struct {
		args []string
		code int
		says string
	}{
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := redlock(t, masters, tc.args...)
			assert.Equal(t, tc.code, got.code, got.stderr)
			assert.Contains(t, got.stdout+got.stderr, tc.says)
		})
	}
}

func TestMastersFiles(t *testing.T) {
	t.Parallel()
	up := redlocktest.URLs(redlocktest.Start(t, 3))
	const mark = "\ufeff"
	for name, tc := range map[string]struct {
		text string
		code int
		says string
	}{
		"a byte order mark":       {mark + up[0] + "\r\n" + up[1] + "\r\n" + up[2] + "\r\n", 0, "3 of 3 may vote"},
		"a mark before a comment": {mark + "# masters\n" + up[0] + "," + up[1] + "," + up[2], 0, "3 of 3 may vote"},
		"comments behind": {
			up[0] + " # eu\n" + up[1] + "\t#" + up[0] + "\n" + up[2] + " #", 0, "3 of 3 may vote",
		},
		"comments and blank lines": {
			"# first\n\n  # second\r\n" + strings.Join(up, "\r\n") + "\r\n", 0, "3 of 3 may vote",
		},
		"a comment after a comma":     {up[0] + ", # eu\n" + up[1] + ",\n" + up[2], 0, "3 of 3 may vote"},
		"a commented URL":             {up[0] + "\n #" + up[1] + "\n# " + up[2], 0, "1 of 1 may vote"},
		"nothing but comments":        {mark + "# " + up[0] + "\n", 64, "has no URL"},
		"UTF-16":                      {"\xff\xfer\x00e\x00", 64, "is UTF-16: save it as UTF-8"},
		"UTF-16, the other way round": {"\xfe\xff\x00r\x00e", 64, "is UTF-16: save it as UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "masters")
			require.NoError(t, os.WriteFile(file, []byte(tc.text), 0o600))
			got := redlock(t, nil, "status", "--masters-file", file)
			assert.Equal(t, tc.code, got.code, got.stderr)
			assert.Contains(t, got.stdout+got.stderr, tc.says)
		})
	}
}
