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

func startMonitor(ctx context.Context, dir, rules, target string) (*monitor, error) {
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

// get reads a result of the API.
func (m *monitor) get(ctx context.Context, path string, data any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url+path, nil)
	if err != nil {
		return err
	}
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	return json.NewDecoder(reply.Body).Decode(&struct{ Data any }{data})
}

// series is a result of a query.
type series struct {
	labels map[string]string
	value  float64
}

func (m *monitor) query(ctx context.Context, query string) (all []series, err error) {
	var found struct {
		Result []struct {
			Metric map[string]string
			Value  [2]any
		}
	}
	if err := m.get(ctx, "/api/v1/query?query="+url.QueryEscape(query), &found); err != nil {
		return nil, err
	}
	for _, r := range found.Result {
		value, _ := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
		all = append(all, series{r.Metric, value})
	}
	return all, nil
}

// firing returns the alerts about a master that fire.
func (m *monitor) firing(ctx context.Context, node string) (names []string, err error) {
	var found struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	if err := m.get(ctx, "/api/v1/alerts", &found); err != nil {
		return nil, err
	}
	for _, a := range found.Alerts {
		if a.State == "firing" && a.Labels["node"] == node {
			names = append(names, a.Labels["alertname"])
		}
	}
	return names, nil
}

// fired returns the names of all alerts that have fired today, about whatever.
func (m *monitor) fired(ctx context.Context) (names []string, err error) {
	found, err := m.query(ctx, `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[1d]))`)
	for _, f := range found {
		names = append(names, f.labels["alertname"])
	}
	return names, err
}
