package redlockprom_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	redlockprom "github.com/redlock-go/redlock/contrib/prometheus"
	"github.com/redlock-go/redlock/redlocktest"
)

// every is a Stats in which all numbers differ. A field that is left out fails the test: it has no metric.
func every(t *testing.T) redlock.Stats {
	t.Helper()
	const ms = time.Millisecond
	bounds := []time.Duration{100 * time.Microsecond, 250 * ms, 2 * time.Second}
	s := redlock.Stats{
		Kinds: []redlock.KindStats{
			{Kind: "mutex", LockStats: redlock.LockStats{
				Waiting: 1, Held: 2, Started: 3, Acquired: 4, Refused: 5, TimedOut: 6, Canceled: 7, Failed: 8,
				ClosedWaiting: 9, Released: 10, HandedOver: 11, Lost: 12, ClosedHeld: 13, Extended: 14, ExtensionFailures: 15,
				Waits: redlock.Histogram{Count: 10, Sum: 1500 * ms, Bounds: bounds, Counts: []int64{1, 2, 3, 4}},
				Holds: redlock.Histogram{Count: 26, Sum: 2500 * ms, Bounds: bounds, Counts: []int64{5, 6, 7, 8}},
			}},
			{Kind: "reader", LockStats: redlock.LockStats{
				Waiting: 31, Held: 32, Started: 33, Acquired: 34, Refused: 35, TimedOut: 36, Canceled: 37, Failed: 38,
				ClosedWaiting: 39, Released: 40, HandedOver: 41, Lost: 42, ClosedHeld: 43, Extended: 44, ExtensionFailures: 45,
				Waits: redlock.Histogram{Count: 42, Sum: 3 * ms, Bounds: bounds, Counts: []int64{9, 10, 11, 12}},
				Holds: redlock.Histogram{Count: 58, Sum: 4 * ms, Bounds: bounds, Counts: []int64{13, 14, 15, 16}},
			}},
		},
		Nodes: []redlock.NodeStats{
			{
				NodeState: redlock.NodeState{
					Node: "a:1", State: redlock.NodeRestarting, MayVote: true, VoteIn: 1250 * ms, Err: errors.New("young"),
				},
				Granted: 51, Denied: 52, Failed: 53, Unknown: 54, Dropped: 55,
				Latency: redlock.Histogram{Count: 74, Sum: 5 * time.Second, Bounds: bounds, Counts: []int64{17, 18, 19, 20}},
				Queued:  56, InFlight: 57, Batches: 58, Requests: 59, Unconfirmed: 60, Duplicates: 61,
			},
			{
				NodeState: redlock.NodeState{
					Node: "b:2", State: redlock.NodeSuspect, MayVote: true, VoteIn: 2 * ms, Err: errors.New("silent"),
				},
				Granted: 71, Denied: 72, Failed: 73, Unknown: 74, Dropped: 75,
				Latency: redlock.Histogram{Count: 90, Sum: time.Minute, Bounds: bounds, Counts: []int64{21, 22, 23, 24}},
				Queued:  76, InFlight: 77, Batches: 78, Requests: 79, Unconfirmed: 80, Duplicates: 81,
			},
		},
	}
	for _, row := range []any{s.Kinds[0], s.Kinds[0].LockStats, s.Kinds[1].LockStats, s.Nodes[0], s.Nodes[1]} {
		for v, i := reflect.ValueOf(row), 0; i < v.NumField(); i++ {
			require.False(t, v.Field(i).IsZero(), "%s.%s", v.Type(), v.Type().Field(i).Name)
		}
	}
	return s
}

// testdata/metrics.txt has all metrics of the Stats that every returns, as a scrape shows them: names, types, labels,
// cumulative buckets, and seconds.
func TestTheCollectorReportsEveryNumber(t *testing.T) {
	t.Parallel()
	want, err := os.Open("testdata/metrics.txt")
	require.NoError(t, err)
	defer want.Close()
	stats := every(t)
	require.NoError(t, testutil.CollectAndCompare(redlockprom.NewOf(func() redlock.Stats { return stats }), want))
}

// A Collector reads the Stats of its Locker at every scrape.
func TestTheCollectorReportsTheStatsOfItsLocker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := redlocktest.NewLocker(t, 3)
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(redlockprom.New(l))
		for held := range 2 {
			problems, err := testutil.GatherAndLint(registry)
			require.NoError(t, err)
			assert.Empty(t, problems)
			for _, k := range l.Stats().Kinds {
				values := gather(t, registry)
				assert.EqualValues(t, k.Held, values["redlock_held "+string(k.Kind)])
				assert.EqualValues(t, k.Acquired, values["redlock_acquisitions_total "+string(k.Kind)+" acquired"])
			}
			assert.Equal(t, held, gather(t, registry)["redlock_held mutex"])
			_, err = l.Lock(t.Context(), fmt.Sprint("x", held), redlock.WithFencing())
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
	})
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
	l := redlocktest.NewLocker(t, 1)
	names := redlockprom.NewNames(func(name string) string { return name })
	other := redlocktest.NewLocker(t, 1, redlock.WithTrace(names.Trace()))
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

// Only what the function returns becomes a label, and only locks that are held are counted as held, again and again.
func TestNamesCountsByTheLabelOfTheName(t *testing.T) {
	t.Parallel()
	names := redlockprom.NewNames(func(name string) string {
		group, _, found := strings.Cut(name, ":")
		if !found {
			return ""
		}
		return group
	})
	hooks := names.Trace()
	of := func(name string) redlock.Event { return redlock.Event{Name: name} }
	for i, outcome := range []redlock.Outcome{
		redlock.OutcomeAcquired, redlock.OutcomeRefused, redlock.OutcomeTimedOut,
		redlock.OutcomeCanceled, redlock.OutcomeFailed, redlock.OutcomeClosed,
	} {
		for n := range 10 + i { // 10 are acquired, 11 are refused and so on
			hooks.AcquireEnd(t.Context(), redlock.AcquireEndEvent{Event: of(fmt.Sprint("orders:", n)), Outcome: outcome})
		}
		hooks.AcquireEnd(t.Context(), redlock.AcquireEndEvent{Event: of("secret"), Outcome: outcome})
	}
	hooks.AcquireEnd(t.Context(), redlock.AcquireEndEvent{Event: of("other:1"), Outcome: redlock.OutcomeAcquired})
	for i, outcome := range []redlock.Outcome{
		redlock.OutcomeReleased, redlock.OutcomeHandedOver, redlock.OutcomeLost, redlock.OutcomeClosed,
	} {
		for n := range 1 + i%3 { // 7 of the 10
			hooks.HoldEnd(t.Context(), redlock.HoldEndEvent{Event: of(fmt.Sprint("orders:", n)), Outcome: outcome})
		}
		hooks.HoldEnd(t.Context(), redlock.HoldEndEvent{Event: of("secret"), Outcome: outcome})
	}
	require.NoError(t, testutil.CollectAndCompare(names, strings.NewReader(`
# HELP redlock_name_acquisitions_total Acquisitions that ended.
# TYPE redlock_name_acquisitions_total counter
redlock_name_acquisitions_total{name="orders",outcome="acquired"} 10
redlock_name_acquisitions_total{name="orders",outcome="canceled"} 13
redlock_name_acquisitions_total{name="orders",outcome="closed"} 15
redlock_name_acquisitions_total{name="orders",outcome="failed"} 14
redlock_name_acquisitions_total{name="orders",outcome="refused"} 11
redlock_name_acquisitions_total{name="orders",outcome="timed_out"} 12
redlock_name_acquisitions_total{name="other",outcome="acquired"} 1
# HELP redlock_name_held Locks that are held now.
# TYPE redlock_name_held gauge
redlock_name_held{name="orders"} 3
redlock_name_held{name="other"} 1
# HELP redlock_name_holds_total Holds that ended.
# TYPE redlock_name_holds_total counter
redlock_name_holds_total{name="orders",outcome="closed"} 1
redlock_name_holds_total{name="orders",outcome="handed_over"} 2
redlock_name_holds_total{name="orders",outcome="lost"} 3
redlock_name_holds_total{name="orders",outcome="released"} 1
`)))
}

// A Locker that is opened with the hooks counts each lock once, however it ends.
func TestNamesCountsTheLocksOfALocker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := redlockprom.NewNames(func(name string) string { return name })
		l := redlocktest.NewLocker(t, 3, redlock.WithTrace(names.Trace()))
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(names)
		for round := 1; round < 3; round++ {
			lk, err := l.Lock(t.Context(), "x", redlock.WithoutKeepalive(), redlock.WithTTL(time.Second))
			require.NoError(t, err)
			_, err = l.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrHeld)
			assert.Equal(t, 1, gather(t, registry)["redlock_name_held x"])
			<-lk.Context().Done()
			require.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
			require.NoError(t, l.Do(t.Context(), "x", func(context.Context) error { return nil }))
			assert.Equal(t, map[string]int{
				"redlock_name_acquisitions_total x acquired": 2 * round, "redlock_name_acquisitions_total x refused": round,
				"redlock_name_holds_total x released": round, "redlock_name_holds_total x lost": round,
				"redlock_name_held x": 0,
			}, gather(t, registry))
		}
	})
}
