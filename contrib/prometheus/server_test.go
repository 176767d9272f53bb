package redlockprom_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/internal/need"
)

// needProgram skips the test if a program of the package prometheus is missing.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		need.SkipIf(t, need.Prometheus, fmt.Errorf("install the package prometheus: %w", err))
	}
}

// server is a Prometheus that scrapes programs.
type server struct{ url string }

// startServer starts a Prometheus with the rules of this package, which wait for at most a second. It scrapes each URL,
// as the job of that name.
func startServer(t *testing.T, jobs map[string]string) *server {
	t.Helper()
	dir := t.TempDir()
	rules, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	soon := regexp.MustCompile(`for: \w+`).ReplaceAll(rules, []byte("for: 1s"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), soon, 0o600))
	config := `
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 500ms}
rule_files: [rules.yml]
scrape_configs:
`
	for job, target := range jobs {
		config += fmt.Sprintf(
			"- {job_name: %s, static_configs: [{targets: [%q]}]}\n", job, strings.TrimPrefix(target, "http://"),
		)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "prometheus.yml"), []byte(config), 0o600))
	port, err := freeport.Reserve()
	require.NoError(t, err)
	t.Cleanup(port.Release)
	address := port.Addr()
	cmd := exec.Command("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=error")
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s := &server{url: "http://" + address}
	require.Eventually(t, func() bool {
		r, err := http.Get(s.url + "/-/ready")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	}, time.Minute, 100*time.Millisecond)
	return s
}

// get reads a result of the API.
func (s *server) get(t *testing.T, path string, data any) {
	t.Helper()
	r, err := http.Get(s.url + path)
	require.NoError(t, err)
	defer r.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: data}
	require.NoError(t, json.NewDecoder(r.Body).Decode(&answer))
	require.Equal(t, "success", answer.Status, "%s: %s", path, answer.Error)
}

// firing returns the alerts that fire for a job, by name.
func (s *server) firing(t *testing.T, job string) []string {
	t.Helper()
	var found struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	s.get(t, "/api/v1/alerts", &found)
	names := []string{}
	for _, a := range found.Alerts {
		if a.State == "firing" && a.Labels["job"] == job {
			names = append(names, a.Labels["alertname"])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// samples returns how many series a query yields.
func (s *server) samples(t *testing.T, query string) int {
	t.Helper()
	var found struct{ Result []any }
	s.get(t, "/api/v1/query?query="+url.QueryEscape(query), &found)
	return len(found.Result)
}
