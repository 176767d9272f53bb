package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	redlocker "github.com/redlock-go/redlock"
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

func TestMastersFiles(t *testing.T) {
	t.Parallel()
	up := redlocktest.URLs(redlocktest.Start(t, 3))
	const mark, all = "\ufeff", "3 of 3 may vote"
	type testCase struct {
		text string
		code int
		says string
	}
	testmain.Each(t, map[string]testCase{
		"a byte order mark":           {mark + up[0] + "\r\n" + up[1] + "\r\n" + up[2] + "\r\n", 0, all},
		"joined files":                {mark + up[0] + "\n" + mark + up[1] + "," + mark + up[2] + "\n" + mark, 0, all},
		"a mark before a comment":     {mark + "# masters\n" + up[0] + "," + up[1] + "," + up[2], 0, all},
		"comments behind":             {up[0] + " # eu\n" + up[1] + "\t#" + up[0] + "\n" + up[2] + " #", 0, all},
		"comments and blank lines":    {"# first\n\n  # second\r\n" + strings.Join(up, "\r\n") + "\r\n", 0, all},
		"a comment after a comma":     {up[0] + ", # eu\n" + up[1] + ",\n" + up[2], 0, all},
		"a commented URL":             {up[0] + "\n #" + up[1] + "\n# " + up[2], 0, "1 of 1 may vote"},
		"nothing but comments":        {mark + "# " + up[0] + "\n", 64, "has no URL"},
		"UTF-16":                      {"\xff\xfer\x00e\x00", 64, "is UTF-16: save it as UTF-8"},
		"UTF-16, the other way round": {"\xfe\xff\x00r\x00e", 64, "is UTF-16: save it as UTF-8"},
	}, func(t *testing.T, tc testCase) {
		file := filepath.Join(t.TempDir(), "masters")
		require.NoError(t, os.WriteFile(file, []byte(tc.text), 0o600))
		got := redlock(t, nil, "status", "--masters-file", file)
		assert.Equal(t, tc.code, got.code, got.stderr)
		assert.Contains(t, got.stdout+got.stderr, tc.says)
	})
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
	forms := []string{
		"status --node-timeout 500ms x",
		"run --node-timeout 500ms -v --try x -- true",
		"status --node-timeout 500ms --json",
		"run --node-timeout 500ms -v --wait 100ms x -- true",
		"lead --help",
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
		flag, env := strings.Fields(forms[i%len(forms)]), strings.Fields(forms[(i+1)%len(forms)])
		for _, p := range []*process{
			launch(t, nil, slices.Insert(flag, 1, "--masters", url)...),
			launchWith(t, nil, func(c *exec.Cmd) { c.Env = append(c.Env, "REDLOCK_MASTERS="+url) }, env...),
		} {
			p.wait()
			assert.NotContains(t, p.stdout.String()+p.stderr.String(), "s3cret", "%s %q %q", url, flag, env)
		}
	}
}
