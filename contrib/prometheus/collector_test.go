package redlockprom_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	redlockprom "github.com/redlock-go/redlock/contrib/prometheus"
	"github.com/redlock-go/redlock/redlocktest"
)

func open(t *testing.T, masters []*redlocktest.Master, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	l, err := redlock.Open(redlocktest.URLs(masters), append(opts, redlock.WithoutRestartGuard())...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

func TestTheCollectorReportsTheStats(t *testing.T) {
	t.Parallel()
	l := open(t, redlocktest.Start(t, 3))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(redlockprom.New(l))
	lk, err := l.Lock(t.Context(), "x")
	require.NoError(t, err)
	_, err = l.TryLock(t.Context(), "x")
	require.ErrorIs(t, err, redlock.ErrHeld)

	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	assert.Empty(t, problems)
	values := gather(t, registry)
	assert.Equal(t, 1, values[`redlock_held mutex`])
	assert.Equal(t, 1, values[`redlock_acquisitions_total mutex acquired`])
	assert.Equal(t, 1, values[`redlock_acquisitions_total mutex refused`])
	assert.Equal(t, 1, values[`redlock_wait_seconds mutex`])
	assert.Contains(t, values, `redlock_held reader`)
	require.NoError(t, lk.Unlock(t.Context()))
	assert.Zero(t, gather(t, registry)[`redlock_held mutex`])
}

// gather returns the values by name and labels; of a histogram, its count.
func gather(t *testing.T, registry *prometheus.Registry) map[string]int {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	values := make(map[string]int)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			key := f.GetName()
			for _, label := range m.GetLabel() {
				key += " " + label.GetValue()
			}
			value := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			values[key] = int(value) + int(m.GetHistogram().GetSampleCount())
		}
	}
	return values
}

// README.md lists every metric with its labels.
func TestTheDocumentsListTheMetrics(t *testing.T) {
	t.Parallel()
	l := open(t, redlocktest.Start(t, 1))
	names := redlockprom.NewNames(func(name string) string { return name })
	other := open(t, redlocktest.Start(t, 1), redlock.WithTrace(names.Trace()))
	require.NoError(t, other.Do(t.Context(), "x", func(context.Context) error { return nil }))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(redlockprom.New(l), names)
	families, err := registry.Gather()
	require.NoError(t, err)
	var want []string
	for _, f := range families {
		var labels []string
		for _, label := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		want = append(want, f.GetName()+" "+strings.Join(labels, ", "))
	}
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var documented []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(redlock_\\w+)` \\| ([\\w, ]+) \\|").
		FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, row[1]+" "+row[2])
	}
	assert.ElementsMatch(t, want, documented)
}

// Only what the function returns becomes a label.
func TestNamesCountsByTheLabelOfTheName(t *testing.T) {
	t.Parallel()
	names := redlockprom.NewNames(func(name string) string {
		group, _, found := strings.Cut(name, ":")
		if !found {
			return ""
		}
		return group
	})
	l := open(t, redlocktest.Start(t, 3), redlock.WithTrace(names.Trace()))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(names)
	for _, name := range []string{"orders:1", "orders:2", "secret"} {
		require.NoError(t, l.Do(t.Context(), name, func(context.Context) error { return nil }))
	}
	lk, err := l.Lock(t.Context(), "orders:3", redlock.WithoutKeepalive(), redlock.WithTTL(time.Second))
	require.NoError(t, err)
	assert.Equal(t, map[string]int{
		"redlock_name_acquisitions_total orders acquired": 3, "redlock_name_holds_total orders released": 2,
		"redlock_name_held orders": 1,
	}, gather(t, registry))
	<-lk.Context().Done()
	_ = lk.Unlock(t.Context())
	assert.Equal(t, 1, gather(t, registry)["redlock_name_holds_total orders lost"])
	assert.Zero(t, gather(t, registry)["redlock_name_held orders"])
}
