package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

// server starts a backend of its own over the masters.
func server(t *testing.T, masters []*redlocktest.Master, dir string, opts ...redlock.Option) string {
	t.Helper()
	locker, err := redlock.Open(redlocktest.URLs(masters), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, locker.Close()) })
	s := httptest.NewServer(newBackend(locker, dir))
	t.Cleanup(s.Close)
	return s.URL + "/state/"
}

// patient are the options of a backend whose masters may take long to answer, as on a busy machine.
func patient() []redlock.Option {
	return []redlock.Option{redlock.WithTTL(time.Minute), redlock.WithNodeTimeout(20 * time.Second)}
}

// ask sends what Terraform sends, and returns the status and the body.
func ask(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

func TestTerraformLocksAndUnlocks(t *testing.T) {
	t.Parallel()
	masters, dir := redlocktest.Start(t, 3), t.TempDir()
	one, another := server(t, masters, dir, patient()...)+"production", server(t, masters, dir, patient()...)+"production"
	const ours, theirs = `{"ID":"1","Operation":"OperationTypeApply","Who":"ann@laptop"}`, `{"ID":"2","Who":"ben@ci"}`

	const ok, conflict = http.StatusOK, http.StatusConflict
	for i, step := range []struct {
		method, url, body string
		code              int
		text              string // "": any
	}{
		{"GET", one, "", http.StatusNoContent, ""},
		{"POST", one + "?ID=1", "a state", conflict, ""}, // not locked yet
		{"LOCK", one, ours, ok, ""},
		{"LOCK", one, theirs, http.StatusLocked, ours}, // Terraform shows the holder
		{"LOCK", another, theirs, http.StatusLocked, "{}"},
		{"POST", one + "?ID=2", "their state", conflict, ""},
		{"POST", one + "?ID=1", "our state", ok, ""},
		{"UNLOCK", one, theirs, conflict, ""},
		{"UNLOCK", one, ours, ok, ""},
		{"LOCK", another, theirs, ok, ""},
		{"GET", another, "", ok, "our state"},
		{"UNLOCK", another, "", ok, ""}, // force-unlock
	} {
		code, text := ask(t, step.method, step.url, step.body)
		require.Equal(t, step.code, code, "%d: %+v: %s", i, step, text)
		if step.text != "" {
			assert.Equal(t, step.text, text)
		}
	}
}

func TestAWriteAfterALossIsRefused(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	dir := t.TempDir()
	one := server(t, masters, dir, redlock.WithTTL(6*time.Second), redlock.WithNodeTimeout(2*time.Second)) +
		"production"
	code, _ := ask(t, "LOCK", one, `{"ID":"1"}`)
	require.Equal(t, http.StatusOK, code)
	for _, m := range masters {
		m.Hold("terraform:production", time.Minute)
	}
	require.Eventually(t, func() bool {
		code, _ := ask(t, "POST", one+"?ID=1", "a state")
		return code == http.StatusConflict
	}, 30*time.Second, 10*time.Millisecond)
	code, _ = ask(t, "UNLOCK", one, `{"ID":"1"}`)
	assert.Equal(t, http.StatusConflict, code)
	assert.NotContains(t, files(t, dir), ".tmp", "what was not written whole is removed")
}

func files(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

// Each name has a lock and a file of its own.
func TestNamesDoNotMeetInOneFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	states := server(t, redlocktest.Start(t, 3), dir, patient()...)
	all := []string{
		"prod", "x%2Fprod", "y%2Fprod", "%2Fprod", "prod%2F", "Prod", "prod.", "prod.tfstate", "prod.tfstate.1.tmp",
		"x%252Fprod", "x%5Cprod", "%2E%2E%2Fprod", "%2E%2E", "%2E", "prod%00", "pr%C3%B6d", "prod%20", "x-prod", "x_prod",
	}
	for _, name := range all {
		code, text := ask(t, "LOCK", states+name, `{"ID":"1"}`)
		require.Equal(t, http.StatusOK, code, "%s: %s", name, text)
		code, text = ask(t, "POST", states+name+"?ID=1", "the state of "+name)
		require.Equal(t, http.StatusOK, code, "%s: %s", name, text)
	}
	for _, name := range all {
		_, text := ask(t, "GET", states+name, "")
		assert.Equal(t, "the state of "+name, text)
	}
	written := strings.ToLower(files(t, dir)) // on some systems the case does not count
	assert.Len(t, slices.Compact(slices.Sorted(strings.FieldsSeq(written))), len(all), written)
}
