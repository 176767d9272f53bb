package main_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testmain"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	sound := redisproc.ForTest(t, 1)
	warned := redisproc.ForTest(t, 1, "--timeout", "100")
	endangered := redisproc.ForTest(t, 1, "--maxmemory", "100mb", "--maxmemory-policy", "volatile-lru")
	type testCase struct {
		urls []string
		args string
		code int
		says string // a regular expression
	}
	testmain.Each(t, map[string]testCase{
		"sound": {redisproc.URLs(sound), "", 0, "0 dangers, 0 warnings, 0 notes; 1 of 1 masters examined"},
		"a warning": {
			redisproc.URLs(warned), "", 1,
			`(?s)WARNING  127\.0\.0\.1:.*closes idle connections.*fix: CONFIG SET timeout 0.*1 warning,`,
		},
		"a danger": {
			redisproc.URLs(endangered), "", 2, `(?s)DANGER   127\.0\.0\.1:.*evicts locks.*maxmemory_policy is volatile-lru`,
		},
		"no majority": {
			append(redisproc.URLs(sound), "redis://127.0.0.1:1", "redis://127.0.0.1:2"), "", 69, "does not answer",
		},
		"json": {
			redisproc.URLs(endangered), "--json", 2,
			`^{"summary":{"masters":1,"examined":1,"dangers":1,"warnings":0,"notes":0},"findings":\[{"id":"evicts-locks",` +
				`"severity":"danger","nodes":\["127\.0\.0\.1:\d+"\],"title":"[^"]+","why":"[^"]+","fix":"[^"]+",` +
				`"commands":\["CONFIG SET maxmemory-policy noeviction"\]}\]}\n$`,
		},
		"arguments":   {redisproc.URLs(sound), "now", 64, "^$"},
		"no terminal": {redisproc.URLs(sound), "--watch", 64, "^$"},
	}, func(t *testing.T, tc testCase) {
		// They have just been started: the restart window of this TTL ends within the examination.
		args := append([]string{
			"doctor", "--masters", strings.Join(tc.urls, ","), "--ttl", "8s", "--node-timeout", "7s",
		}, strings.Fields(tc.args)...)
		got := redlock(t, nil, args...)
		assert.Equal(t, tc.code, got.code, "%s%s", got.stdout, got.stderr)
		assert.Regexp(t, tc.says, got.stdout)
		assert.NotContains(t, got.stderr, "redis:", "what go-redis logs")
	})
}

// With --watch --json, each examination is a line.
func TestDoctorWatchAsJSON(t *testing.T) {
	t.Parallel()
	servers := redisproc.ForTest(t, 1)
	p := launch(t, nil, "doctor", "--watch", "--json", "--masters", servers[0].URL())
	p.says("}\n")
	p.signal(os.Interrupt)
	assert.Equal(t, 0, p.wait())
	var report struct{ Findings []struct{ ID string } }
	require.NoError(t, json.Unmarshal([]byte(strings.SplitN(p.stdout.String(), "\n", 2)[0]), &report))
}
