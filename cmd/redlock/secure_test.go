package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/testcert"
	"github.com/redlock-go/redlock/internal/testmain"
	"github.com/redlock-go/redlock/redlocktest"
)

// secured are three servers that want a client certificate and a password, the file with their URLs, and the files of
// the authority.
func secured(t *testing.T) (ca *testcert.Authority, masters string, authority string) {
	t.Helper()
	ca = testcert.New(t)
	cert, key, authority := ca.Files(ca.Valid())
	servers := redisproc.ForTLSTest(t, 3, cert, key, authority, "--tls-auth-clients", "yes",
		"--user", "locks", "on", ">s3cret", "~*", "&*", "+@all")
	masters = filepath.Join(t.TempDir(), "masters")
	text := "# one per rack\n"
	for _, url := range redisproc.TLSURLs(servers) {
		text += strings.Replace(url, "rediss://", "rediss://locks:s3cret@", 1) + "\n"
	}
	require.NoError(t, os.WriteFile(masters, []byte(text), 0o600))
	return ca, masters, authority
}

func TestTLSWithClientCertificates(t *testing.T) {
	t.Parallel()
	ca, masters, authority := secured(t)
	cert, key, _ := ca.Files(ca.Valid())
	expiredCert, expiredKey, _ := ca.Files(ca.Certificate("127.0.0.1", time.Now().Add(-time.Hour)))
	stranger := testcert.New(t)
	strangersCert, strangersKey, strangersCA := stranger.Files(stranger.Valid())
	with := func(ca, cert, key string, more ...string) []string {
		return append([]string{"--tls-ca", ca, "--tls-cert", cert, "--tls-key", key}, more...)
	}
	type testCase struct {
		flags []string
		says  string // "": it works
	}
	testmain.Each(t, map[string]testCase{
		"a certificate of the same authority": {with(authority, cert, key), ""},
		"no certificate":                      {[]string{"--tls-ca", authority}, "certificate required"},
		"an expired certificate":              {with(authority, expiredCert, expiredKey), "expired certificate"},
		"a certificate of another authority":  {with(authority, strangersCert, strangersKey), "certificate"},
		"another authority":                   {with(strangersCA, cert, key), "signed by unknown authority"},
		"the system's authorities":            {with("", cert, key)[2:], "certificate signed by unknown authority"},
		"another name": {
			with(authority, cert, key, "--tls-server-name", "redis.example.org"), "redis.example.org",
		},
	}, func(t *testing.T, tc testCase) {
		args := append([]string{
			"run", "--without-restart-guard", "--node-timeout", "2s", "--ttl", "1m", "--masters-file", masters,
		}, tc.flags...)
		got := redlock(t, nil, append(args, t.Name(), "--", "echo", "runs")...)
		if tc.says == "" {
			assert.Equal(t, result{0, "runs\n", ""}, got)
			return
		}
		got.fails(t, 69, tc.says) // it does not wait: only an operator can fix it
		assert.NotContains(t, got.stderr, "s3cret")
	})
}

func TestTLSFromTheEnvironment(t *testing.T) {
	t.Parallel()
	ca, masters, authority := secured(t)
	cert, key, _ := ca.Files(ca.Valid())
	p := launchWith(t, nil, func(c *exec.Cmd) {
		c.Env = append(c.Env, "REDLOCK_MASTERS_FILE="+masters, "REDLOCK_TLS_CA="+authority, "REDLOCK_TLS_CERT="+cert,
			"REDLOCK_TLS_KEY="+key, "REDLOCK_OWNER=from the environment")
	}, "run", "--without-restart-guard", "name", "--", binary, "status", "name") // the files' names are inherited
	assert.Equal(t, 0, p.wait(), p.stderr.String())
	assert.Contains(t, p.stdout.String(), `name: held by "from the environment"`)
}

// The masters' URLs may have passwords. They are in no argument and no environment of a process that redlock starts.
func TestTheCommandDoesNotInheritTheMasters(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	got := redlock(
		t, masters, "run", "name", "--", "sh", "-c",
		`env; tr '\0' '\n' 2>/dev/null </proc/$PPID/environ; tr '\0' ' ' 2>/dev/null </proc/$PPID/cmdline`,
	)
	assert.Equal(t, 0, got.code)
	assert.Contains(t, got.stdout, "REDLOCK_NAME=name")
	assert.NotContains(t, got.stdout, addr(masters[0]))
}
