package redlockprom_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	redlockprom "github.com/redlock-go/redlock/contrib/prometheus"
	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/redlocktest"
)

// need skips the test if a program of the package prometheus is missing, unless the environment forbids that.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("REDLOCK_REQUIRE_PROMETHEUS") == "1" {
		t.Fatalf("%s is missing: install the package prometheus", program)
	}
	t.Skipf("%s is missing: install the package prometheus", program)
}

func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	need(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		out, err := exec.Command("promtool", args...).CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}

// server is a Prometheus that scrapes one program.
type server struct{ url string }

// startServer starts a Prometheus with the rules of this package. They wait for at most a second.
func startServer(t *testing.T, target string) *server {
	t.Helper()
	need(t, "prometheus")
	dir := t.TempDir()
	rules, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	soon := regexp.MustCompile(`for: \w+`).ReplaceAll(rules, []byte("for: 1s"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yml"), soon, 0o600))
	config := fmt.Sprintf(`
global: {scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}
rule_files: [rules.yml]
scrape_configs: [{job_name: program, static_configs: [{targets: [%q]}]}]
`, strings.TrimPrefix(target, "http://"))
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

// firing returns the alerts that fire, by name and master.
func (s *server) firing(t *testing.T) (names []string) {
	t.Helper()
	var found struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	s.get(t, "/api/v1/alerts", &found)
	for _, a := range found.Alerts {
		if a.State == "firing" {
			names = append(names, strings.TrimSpace(a.Labels["alertname"]+" "+a.Labels["node"]))
		}
	}
	return names
}

// samples returns how many series a query yields.
func (s *server) samples(t *testing.T, query string) int {
	t.Helper()
	var found struct{ Result []any }
	s.get(t, "/api/v1/query?query="+url.QueryEscape(query), &found)
	return len(found.Result)
}

// A Prometheus scrapes a program whose masters freeze, one and then a majority. The alerts fire, and every query of the
// dashboard has a result.
func TestAlertsFireWhenMastersFreeze(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 5)
	l := open(t, masters, redlock.WithTTL(2*time.Second))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(redlockprom.New(l))
	program := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(program.Close)
	s := startServer(t, program.URL)

	working, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for working.Err() == nil {
			try, cancel := context.WithTimeout(working, time.Second)
			_ = l.Do(try, "job", func(context.Context) error { return nil })
			cancel()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-stopped })
	held, err := l.Lock(t.Context(), "held")
	require.NoError(t, err)

	require.Eventually(t, func() bool { return s.samples(t, "redlock:wait_seconds:p99 > 0") > 0 }, time.Minute, 200*time.Millisecond)
	assert.Empty(t, s.firing(t))
	for _, query := range dashboardQueries(t) {
		assert.Positive(t, s.samples(t, query), query)
	}

	masters[0].Freeze()
	address := strings.TrimPrefix(masters[0].URL(), "redis://")
	require.Eventually(t, func() bool {
		return assert.ObjectsAreEqual([]string{"RedlockMasterDown " + address}, alertsNamed(s.firing(t), "RedlockMasterDown"))
	}, time.Minute, 200*time.Millisecond)
	assert.Empty(t, alertsNamed(s.firing(t), "RedlockNoMajority"))
	require.NoError(t, held.Err())

	masters[1].Freeze()
	masters[2].Freeze()
	for _, name := range []string{"RedlockNoMajority", "RedlockLocksLost"} {
		require.Eventually(t, func() bool { return len(alertsNamed(s.firing(t), name)) > 0 }, time.Minute, 200*time.Millisecond, name)
	}
	for _, m := range masters[:3] {
		m.Thaw()
	}
	require.Eventually(t, func() bool {
		firing := s.firing(t)
		return len(alertsNamed(firing, "RedlockMasterDown"))+len(alertsNamed(firing, "RedlockNoMajority")) == 0
	}, time.Minute, 200*time.Millisecond)
	_ = held.Unlock(t.Context())
}

func alertsNamed(firing []string, name string) (some []string) {
	for _, alert := range firing {
		if strings.HasPrefix(alert, name) {
			some = append(some, alert)
		}
	}
	return some
}

// dashboardQueries returns the queries of the dashboard with its variables filled in.
func dashboardQueries(t *testing.T) (queries []string) {
	t.Helper()
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	require.NoError(t, json.Unmarshal(text, &dashboard))
	fill := strings.NewReplacer("$job", ".*", "$__rate_interval", "1m")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, fill.Replace(target.Expr))
		}
	}
	require.NotEmpty(t, queries)
	return queries
}
