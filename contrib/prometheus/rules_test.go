package redlockprom_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	redlockprom "github.com/redlock-go/redlock/contrib/prometheus"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestPromtoolAcceptsTheRules(t *testing.T) {
	t.Parallel()
	needProgram(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "rules.yml"}, {"test", "rules", "rules_test.yml"}} {
		out, err := exec.Command("promtool", args...).CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
}

// program is a program with metrics that locks and unlocks all the time.
type program struct {
	locker  *redlock.Locker
	masters []*redlocktest.Master // nil: redis-servers
	servers []*redisproc.Server
	url     string // of its metrics
}

// startProgram starts a program with five masters, or with these.
func startProgram(t *testing.T, urls ...string) *program {
	t.Helper()
	p := &program{}
	if len(urls) == 0 {
		p.masters = redlocktest.Start(t, 5)
		urls = redlocktest.URLs(p.masters)
	}
	var err error
	p.locker, err = redlock.Open(urls, redlock.WithTTL(10*time.Second), redlock.WithNodeTimeout(2*time.Second),
		redlock.WithoutRestartGuard())
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.locker.Close()) })
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(redlockprom.New(p.locker))
	metrics := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	t.Cleanup(metrics.Close)
	p.url = metrics.URL
	return p
}

// work has the program lock and unlock until the test ends.
func (p *program) work(t *testing.T) {
	t.Helper()
	working, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for working.Err() == nil {
			_ = p.locker.Do(working, "job", func(context.Context) error { return nil })
			time.Sleep(20 * time.Millisecond)
		}
	}()
	t.Cleanup(func() { stop(); <-stopped })
}

func (p *program) freeze(n int) {
	for _, m := range p.masters[:n] {
		m.Freeze()
	}
}

func (p *program) thaw() {
	for _, m := range p.masters {
		m.Thaw()
	}
}

// stats waits until the Stats of the program have a property.
func (p *program) stats(t *testing.T, what string, has func(redlock.Stats) bool) {
	t.Helper()
	require.Eventually(t, func() bool { return has(p.locker.Stats()) }, patience, 10*time.Millisecond, what)
}

const patience = 3 * time.Minute

// alarm is the condition of an alert.
type alarm struct {
	start func(t *testing.T) *program
	cause func(t *testing.T, p *program)
	end   func(t *testing.T, p *program) // ends the condition, and so the alert; nil: it lasts for five minutes
	also  []string                       // the alerts that may fire as well
}

// alarms has the condition of each alert.
var alarms = map[string]alarm{
	"RedlockMasterDown": {
		start: working,
		cause: func(_ *testing.T, p *program) { p.freeze(1) },
		end:   func(_ *testing.T, p *program) { p.thaw() },
		also:  []string{"RedlockReleasesUnconfirmed"},
	},
	"RedlockMasterBarred": {
		start: func(t *testing.T) *program {
			t.Helper()
			servers := redisproc.ForTest(t, 3)
			p := startProgram(t, redisproc.URLs(servers)...)
			p.servers = servers
			p.work(t)
			return p
		},
		cause: func(t *testing.T, p *program) { t.Helper(); allow(t, p.servers[0], "-evalsha") },
		end:   func(t *testing.T, p *program) { t.Helper(); allow(t, p.servers[0], "+evalsha") },
		also:  []string{"RedlockReleasesUnconfirmed"},
	},
	"RedlockMasterRefuses": {
		start: working,
		cause: func(_ *testing.T, p *program) {
			p.masters[0].Refuse("OOM command not allowed when used memory > 'maxmemory'.")
		},
		end:  func(_ *testing.T, p *program) { p.masters[0].Refuse("") },
		also: []string{"RedlockReleasesUnconfirmed"},
	},
	"RedlockNoMajority": {
		start: working,
		cause: func(_ *testing.T, p *program) { p.freeze(3) },
		end:   func(_ *testing.T, p *program) { p.thaw() },
		also:  []string{"RedlockMasterDown", "RedlockReleasesUnconfirmed"},
	},
	"RedlockLocksLost": {
		start: working,
		cause: func(t *testing.T, p *program) {
			t.Helper()
			held, err := p.locker.Lock(t.Context(), "held", redlock.WithTTL(3*time.Second), redlock.WithoutKeepalive())
			require.NoError(t, err)
			<-held.Context().Done()
			_ = held.Unlock(t.Context())
		},
	},
	"RedlockExtensionsFail": {
		start: working,
		cause: func(t *testing.T, p *program) {
			t.Helper()
			held, err := p.locker.Lock(t.Context(), "held")
			require.NoError(t, err)
			p.freeze(3)
			p.stats(t, "an extension failed", func(s redlock.Stats) bool { return s.Kinds[0].ExtensionFailures > 0 })
			p.thaw()
			require.NoError(t, held.Err(), "it is not lost")
			t.Cleanup(func() { _ = held.Unlock(context.Background()) })
		},
		also: []string{"RedlockMasterDown", "RedlockNoMajority", "RedlockReleasesUnconfirmed"},
	},
	"RedlockReleasesUnconfirmed": {
		start: working,
		cause: func(t *testing.T, p *program) {
			t.Helper()
			held, err := p.locker.Lock(t.Context(), "held", redlock.WithTTL(time.Hour))
			require.NoError(t, err)
			p.freeze(1)
			require.NoError(t, held.Unlock(t.Context()))
		},
		end:  func(_ *testing.T, p *program) { p.thaw() },
		also: []string{"RedlockMasterDown"},
	},
	"RedlockSameServerTwice": {
		start: func(t *testing.T) *program {
			t.Helper()
			urls := redlocktest.URLs(redlocktest.Start(t, 2))
			return startProgram(t, append(urls, strings.Replace(urls[0], "127.0.0.1", "localhost", 1))...)
		},
		cause: func(t *testing.T, p *program) { t.Helper(); p.work(t) }, // the first round shows it
	},
}

func working(t *testing.T) *program {
	t.Helper()
	p := startProgram(t)
	p.work(t)
	return p
}

// allow changes the rights of the server's default user.
func allow(t *testing.T, s *redisproc.Server, right string) {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	require.NoError(t, c.Do(t.Context(), "acl", "setuser", "default", right).Err())
}

// A Prometheus scrapes a program for each alert, and a sound one. No alert fires before its condition, the alert of the
// condition fires, and it ends with the condition. Every query of the dashboard has a result.
func TestEveryAlertFires(t *testing.T) {
	t.Parallel()
	needProgram(t, "prometheus")
	const sound = "sound"
	programs, jobs := map[string]*program{sound: working(t)}, map[string]string{}
	for _, alert := range alerts(t) {
		require.Contains(t, alarms, alert, "it has no condition here")
		programs[alert] = alarms[alert].start(t)
	}
	require.Len(t, programs, len(alarms)+1, "each condition is that of an alert")
	for job, p := range programs {
		jobs[job] = p.url
	}
	s := startServer(t, jobs)
	require.Eventually(t, func() bool {
		return s.samples(t, `count_over_time(redlock_held{kind="mutex"}[1m]) > 5`) == len(jobs) &&
			s.samples(t, "redlock:wait_seconds:p99 > 0") > 0
	}, patience, 200*time.Millisecond)
	for job := range jobs {
		s.sound(t, job)
	}
	for _, query := range dashboardQueries(t) {
		assert.Positive(t, s.samples(t, query), query)
	}

	t.Run("conditions", func(t *testing.T) {
		for alert, a := range alarms {
			t.Run(alert, func(t *testing.T) {
				t.Parallel()
				p := programs[alert]
				a.cause(t, p)
				require.Eventually(t, func() bool { return slices.Contains(s.firing(t, alert), alert) },
					patience, 200*time.Millisecond, "it fires")
				assert.Subset(t, append(a.also, alert), s.firing(t, alert))
				if a.end == nil {
					return
				}
				a.end(t, p)
				require.Eventually(t, func() bool { return !slices.Contains(s.firing(t, alert), alert) },
					patience, 200*time.Millisecond, "it ends")
			})
		}
	})
	s.sound(t, sound)
}

// sound asserts that no alert fires for a job. On a busy machine, masters may confirm releases late for a while.
func (s *server) sound(t *testing.T, job string) {
	t.Helper()
	assert.Subset(t, []string{"RedlockReleasesUnconfirmed"}, s.firing(t, job), job)
	require.Eventually(t, func() bool { return len(s.firing(t, job)) == 0 }, patience, 200*time.Millisecond, job)
}

// alerts returns the names of the alerts in rules.yml.
func alerts(t *testing.T) (names []string) {
	t.Helper()
	text, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	for _, found := range regexp.MustCompile(`(?m)^ +- alert: (\w+)$`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, found[1])
	}
	require.NotEmpty(t, names)
	return names
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
