package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/freeport"
)

// scrape is how often Prometheus scrapes the program, and evaluates the rules.
const scrape = 5 * time.Second

// monitor is a Prometheus with the rules of contrib/prometheus.
type monitor struct {
	url  string
	cmd  *exec.Cmd
	port *freeport.Port
}

func startMonitor(ctx context.Context, dir, target string) (*monitor, error) {
	list := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", "github.com/redlock-go/redlock/contrib/prometheus")
	folder, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("find the rules: %w", err)
	}
	rules := filepath.Join(strings.TrimSpace(string(folder)), "rules.yml")
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: %[1]v, scrape_timeout: %[1]v, evaluation_interval: "+
		"%[1]v}\nrule_files: [%[2]q]\n"+
		"scrape_configs: [{job_name: program, static_configs: [{targets: [%[3]q]}]}]\n", scrape, rules, target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}
	port, err := freeport.Reserve()
	if err != nil {
		return nil, err
	}
	m := &monitor{url: "http://" + port.Addr(), port: port}
	m.cmd = exec.Command("prometheus", "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "tsdb"),
		"--web.listen-address="+port.Addr(), "--log.level=error")
	m.cmd.Stderr = os.Stderr
	if err := m.cmd.Start(); err != nil {
		port.Release()
		return nil, fmt.Errorf("%w: install the package prometheus", err)
	}
	for ctx.Err() == nil {
		if found, err := m.query(ctx, "redlock:masters"); err == nil && len(found) > 0 {
			return m, nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return m, ctx.Err()
}

func (m *monitor) stop() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	m.port.Release()
}

// series is a result of a query.
type series struct {
	Metric map[string]string
	Value  [2]any // the time, and the value as a text
}

func (s series) value() float64 {
	value, _ := strconv.ParseFloat(fmt.Sprint(s.Value[1]), 64)
	return value
}

func (m *monitor) query(ctx context.Context, query string) ([]series, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+"/api/v1/query?query="+url.QueryEscape(query), nil)
	if err != nil {
		return nil, err
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	var found struct{ Data struct{ Result []series } }
	err = json.NewDecoder(reply.Body).Decode(&found)
	return found.Data.Result, err
}

// firing returns the alerts about a master that fire.
func (m *monitor) firing(ctx context.Context, node string) ([]string, error) {
	return m.alerts(ctx, fmt.Sprintf(`ALERTS{alertstate="firing",node=%q}`, node))
}

// fired returns the names of all alerts that have fired today, about whatever.
func (m *monitor) fired(ctx context.Context) ([]string, error) {
	return m.alerts(ctx, `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[1d]))`)
}

func (m *monitor) alerts(ctx context.Context, query string) (names []string, err error) {
	found, err := m.query(ctx, query)
	for _, f := range found {
		names = append(names, f.Metric["alertname"])
	}
	return names, err
}
