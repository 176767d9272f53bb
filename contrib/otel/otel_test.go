package redlockotel_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlock-go/redlock"
	redlockotel "github.com/redlock-go/redlock/contrib/otel"
	"github.com/redlock-go/redlock/redlocktest"
)

// observed is a Telemetry, and what it reports.
type observed struct {
	*redlockotel.Telemetry
	tracers *sdktrace.TracerProvider
	spans   *tracetest.SpanRecorder
	reader  *sdkmetric.ManualReader
}

func observe(t *testing.T, opts ...redlockotel.Option) *observed {
	t.Helper()
	o := &observed{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	o.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spans))
	var err error
	o.Telemetry, err = redlockotel.New(append(opts, redlockotel.WithTracerProvider(o.tracers),
		redlockotel.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader))))...)
	require.NoError(t, err)
	return o
}

// locker returns a Locker that reports to o, over masters in virtual time.
func (o *observed) locker(t *testing.T) *redlock.Locker {
	t.Helper()
	l, err := redlock.Open(redlocktest.URLs(redlocktest.StartVirtual(t, 3)), redlock.WithTrace(o.Trace()))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	registration, err := o.Observe(l)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, registration.Unregister()) })
	return l
}

// metrics returns the metrics by name.
func (o *observed) metrics(t *testing.T) map[string]metricdata.Metrics {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, o.reader.Collect(t.Context(), &data))
	all := make(map[string]metricdata.Metrics)
	for _, s := range data.ScopeMetrics {
		assert.Equal(t, "github.com/redlock-go/redlock/contrib/otel", s.Scope.Name)
		for _, m := range s.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// assertMetrics compares all metrics, with their descriptions, units, types, attributes and values.
func (o *observed) assertMetrics(t *testing.T, want ...metricdata.Metrics) {
	t.Helper()
	got := o.metrics(t)
	for _, m := range want {
		if _, ok := got[m.Name]; assert.True(t, ok, m.Name) {
			metricdatatest.AssertEqual(t, m, got[m.Name], metricdatatest.IgnoreTimestamp(), metricdatatest.IgnoreExemplars())
		}
		delete(got, m.Name)
	}
	assert.Empty(t, got, "no other metric")
}

// attributes returns attributes without the prefix of their keys: "kind=mutex outcome=acquired".
func attributes(text string) attribute.Set {
	var all []attribute.KeyValue
	for field := range strings.FieldsSeq(text) {
		key, value, _ := strings.Cut(field, "=")
		all = append(all, attribute.String("redlock."+key, value))
	}
	return attribute.NewSet(all...)
}

type numbers map[string]int64

func (n numbers) points() (points []metricdata.DataPoint[int64]) {
	for a, value := range n {
		points = append(points, metricdata.DataPoint[int64]{Attributes: attributes(a), Value: value})
	}
	return points
}

func gauge(name, description string, n numbers) metricdata.Metrics {
	return metricdata.Metrics{Name: name, Description: description, Data: metricdata.Gauge[int64]{DataPoints: n.points()}}
}

func counter(name, description string, n numbers) metricdata.Metrics {
	return metricdata.Metrics{Name: name, Description: description, Data: metricdata.Sum[int64]{
		Temporality: metricdata.CumulativeTemporality, IsMonotonic: true, DataPoints: n.points(),
	}}
}

var bounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}

// seconds is a histogram of durations, by attributes.
func seconds(name, description string, durations map[string][]float64) metricdata.Metrics {
	var points []metricdata.HistogramDataPoint[float64]
	for a, all := range durations {
		p := metricdata.HistogramDataPoint[float64]{
			Attributes: attributes(a), Bounds: bounds, BucketCounts: make([]uint64, len(bounds)+1),
		}
		for i, d := range all {
			bucket := 0
			for bucket < len(bounds) && d > bounds[bucket] {
				bucket++
			}
			p.BucketCounts[bucket]++
			p.Count++
			p.Sum += d
			if low, ok := p.Min.Value(); i == 0 || ok && d < low {
				p.Min = metricdata.NewExtrema(d)
			}
			if high, ok := p.Max.Value(); i == 0 || ok && d > high {
				p.Max = metricdata.NewExtrema(d)
			}
		}
		points = append(points, p)
	}
	return metricdata.Metrics{Name: name, Description: description, Unit: "s", Data: metricdata.Histogram[float64]{
		Temporality: metricdata.CumulativeTemporality, DataPoints: points,
	}}
}

// The metrics that read Stats have each number of it in its place, at every collection, and also if it is 0.
func TestTheMetricsReportEveryNumber(t *testing.T) {
	t.Parallel()
	o := observe(t)
	var s redlock.Stats
	registration, err := o.ObserveStats(func() redlock.Stats { return s })
	require.NoError(t, err)
	for f, state := range []redlock.State{redlock.NodeRestarting, redlock.NodeVoting, redlock.NodeBarred} {
		f := int64(f) // a factor of all numbers
		s = redlock.Stats{
			Kinds: []redlock.KindStats{
				{Kind: "mutex", LockStats: redlock.LockStats{Held: f, Waiting: 2 * f, Started: 50 * f, Acquired: 51 * f}},
				{Kind: "reader", LockStats: redlock.LockStats{Held: 3 * f, Waiting: 4 * f, Started: 52 * f, Acquired: 53 * f}},
			},
			Nodes: []redlock.NodeStats{
				{
					NodeState: redlock.NodeState{Node: "a:1", State: state},
					Granted:   11 * f, Denied: 12 * f, Failed: 13 * f, Unknown: 14 * f, Dropped: 60 * f,
					Requests: 15 * f, Batches: 16 * f, Queued: int(17 * f), InFlight: int(18 * f), Unconfirmed: int(19 * f),
					Duplicates: 20 * f,
				},
				{
					NodeState: redlock.NodeState{Node: "b:2", State: redlock.NodeSuspect},
					Granted:   31 * f, Denied: 32 * f, Failed: 33 * f, Unknown: 34 * f,
					Dropped: 61 * f, Requests: 35 * f, Batches: 36 * f, Queued: int(37 * f), InFlight: int(38 * f),
					Unconfirmed: int(39 * f), Duplicates: 40 * f,
				},
			},
		}
		o.assertMetrics(t,
			gauge("redlock.held", "Locks that are held now.", numbers{"kind=mutex": f, "kind=reader": 3 * f}),
			gauge("redlock.waiting", "Acquisitions in progress.", numbers{"kind=mutex": 2 * f, "kind=reader": 4 * f}),
			gauge("redlock.node.state", "1 for the present state of a master.",
				numbers{"node=a:1 state=" + string(state): 1, "node=b:2 state=suspect": 1}),
			counter("redlock.node.votes", "Votes of a master, over all operations.", numbers{
				"node=a:1 verdict=granted": 11 * f, "node=a:1 verdict=denied": 12 * f,
				"node=a:1 verdict=failed": 13 * f, "node=a:1 verdict=unknown": 14 * f,
				"node=b:2 verdict=granted": 31 * f, "node=b:2 verdict=denied": 32 * f,
				"node=b:2 verdict=failed": 33 * f, "node=b:2 verdict=unknown": 34 * f,
			}),
			counter("redlock.node.requests", "Requests that were written.",
				numbers{"node=a:1": 15 * f, "node=b:2": 35 * f}),
			counter("redlock.node.batches", "Batches of requests that were written.",
				numbers{"node=a:1": 16 * f, "node=b:2": 36 * f}),
			gauge("redlock.node.queued", "Requests that wait to be written.",
				numbers{"node=a:1": 17 * f, "node=b:2": 37 * f}),
			gauge("redlock.node.inflight", "Requests that were written and have no reply.",
				numbers{"node=a:1": 18 * f, "node=b:2": 38 * f}),
			gauge("redlock.node.unconfirmed", "Releases that a master has not confirmed in time.",
				numbers{"node=a:1": 19 * f, "node=b:2": 39 * f}),
			counter("redlock.node.duplicates", "Rounds in which this master and another were one server.",
				numbers{"node=a:1": 20 * f, "node=b:2": 40 * f}),
		)
	}
	require.NoError(t, registration.Unregister())
	o.assertMetrics(t)
}

// span is what is compared of a span. Times count from the beginning of the test.
type span struct {
	name       string
	start, end time.Duration
	attributes attribute.Set
	status     sdktrace.Status
}

// Each event is recorded as a duration in seconds and as a span that ends now. A span is an error if its event has one.
func TestTheHooksRecordWhatTheEventsSay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, redlockotel.WithName(func(name string) string { return strings.TrimRight(name, ":123") }))
		began := time.Now()
		ctx, parent := o.tracers.Tracer("test").Start(t.Context(), "request")
		hooks, failure := o.Trace(), errors.New("the reason")
		const ms = time.Millisecond
		for _, e := range []redlock.AcquireEndEvent{
			{Event: event("mutex", "orders:1"), Outcome: redlock.OutcomeAcquired, Took: 2 * ms, Attempts: 1},
			{Event: event("mutex", "orders:2"), Outcome: redlock.OutcomeAcquired, Took: 1500 * ms, Attempts: 3},
			{Event: event("reader", "orders:3"), Outcome: redlock.OutcomeRefused, Took: 3 * ms, Attempts: 2, Err: failure},
			{Event: event("mutex", ""), Outcome: redlock.OutcomeTimedOut, Took: 2 * time.Second, Err: failure},
		} {
			time.Sleep(2 * time.Second)
			hooks.AcquireEnd(ctx, e)
		}
		for _, e := range []redlock.HoldEndEvent{
			{Event: event("mutex", "orders:1"), Outcome: redlock.OutcomeReleased, Held: 40 * ms},
			{Event: event("mutex", "orders:2"), Outcome: redlock.OutcomeHandedOver, Held: 2 * time.Second},
			{Event: event("writer", "orders:3"), Outcome: redlock.OutcomeLost, Held: time.Second, Err: failure},
			{Event: event("mutex", "orders:1"), Outcome: redlock.OutcomeReleased, Held: 20 * ms},
		} {
			time.Sleep(2 * time.Second)
			hooks.HoldEnd(ctx, e)
		}
		for _, err := range []error{nil, failure, nil, nil, failure} {
			hooks.Extended(ctx, redlock.ExtendedEvent{Event: event("mutex", "orders:1"), Err: err})
		}
		o.assertMetrics(t,
			seconds("redlock.acquire.duration", "How long acquisitions took, by outcome.", map[string][]float64{
				"kind=mutex outcome=acquired name=orders": {0.002, 1.5},
				"kind=reader outcome=refused name=orders": {0.003},
				"kind=mutex outcome=timed_out":            {2},
			}),
			seconds("redlock.hold.duration", "How long locks were held, by outcome.", map[string][]float64{
				"kind=mutex outcome=released name=orders":    {0.04, 0.02},
				"kind=mutex outcome=handed_over name=orders": {2},
				"kind=writer outcome=lost name=orders":       {1},
			}),
			counter("redlock.extensions", "Extensions, by outcome: extended or failed.", numbers{
				"kind=mutex outcome=extended name=orders": 3, "kind=mutex outcome=failed name=orders": 2,
			}),
		)

		attempts := func(n int, text string) attribute.Set {
			a := attributes(text)
			return attribute.NewSet(append(a.ToSlice(), attribute.Int("redlock.attempts", n))...)
		}
		ok, failed := sdktrace.Status{}, sdktrace.Status{Code: codes.Error, Description: "the reason"}
		want := []span{
			{"redlock.acquire", 1998 * ms, 2000 * ms, attempts(1, "kind=mutex outcome=acquired name=orders"), ok},
			{"redlock.acquire", 2500 * ms, 4000 * ms, attempts(3, "kind=mutex outcome=acquired name=orders"), ok},
			{"redlock.acquire", 5997 * ms, 6000 * ms, attempts(2, "kind=reader outcome=refused name=orders"), failed},
			{"redlock.acquire", 6000 * ms, 8000 * ms, attempts(0, "kind=mutex outcome=timed_out"), failed},
			{"redlock.hold", 9960 * ms, 10000 * ms, attributes("kind=mutex outcome=released name=orders"), ok},
			{"redlock.hold", 10000 * ms, 12000 * ms, attributes("kind=mutex outcome=handed_over name=orders"), ok},
			{"redlock.hold", 13000 * ms, 14000 * ms, attributes("kind=writer outcome=lost name=orders"), failed},
			{"redlock.hold", 15980 * ms, 16000 * ms, attributes("kind=mutex outcome=released name=orders"), ok},
		}
		var got []span
		for _, s := range o.spans.Ended() {
			assert.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
			assert.Equal(t, parent.SpanContext().TraceID(), s.SpanContext().TraceID())
			assert.Equal(t, trace.SpanKindInternal, s.SpanKind())
			assert.Empty(t, s.Events())
			assert.Equal(t, "github.com/redlock-go/redlock/contrib/otel", s.InstrumentationScope().Name)
			got = append(got, span{
				s.Name(), s.StartTime().Sub(began), s.EndTime().Sub(began), attribute.NewSet(s.Attributes()...), s.Status(),
			})
		}
		assert.Equal(t, want, got)
	})
}

// Without WithName nothing has the name of a lock.
func TestNoNameIsReported(t *testing.T) {
	t.Parallel()
	o := observe(t)
	hooks := o.Trace()
	hooks.AcquireEnd(t.Context(), redlock.AcquireEndEvent{Event: redlock.Event{Name: "secret"}})
	hooks.HoldEnd(t.Context(), redlock.HoldEndEvent{Event: redlock.Event{Name: "secret"}})
	hooks.Extended(t.Context(), redlock.ExtendedEvent{Event: redlock.Event{Name: "secret"}})
	o.assertMetrics(t,
		seconds("redlock.acquire.duration", "How long acquisitions took, by outcome.",
			map[string][]float64{"kind= outcome=": {0}}),
		seconds("redlock.hold.duration", "How long locks were held, by outcome.",
			map[string][]float64{"kind= outcome=": {0}}),
		counter("redlock.extensions", "Extensions, by outcome: extended or failed.",
			numbers{"kind= outcome=extended": 1}),
	)
	for _, s := range o.spans.Ended() {
		for _, a := range s.Attributes() {
			assert.NotEqual(t, attribute.Key("redlock.name"), a.Key)
		}
	}
}

// A Locker reports through the hooks and through Observe. A second lock is reported as the first.
func TestALockerReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t)
		l := o.locker(t)
		for round := range 3 {
			ctx, parent := o.tracers.Tracer("test").Start(t.Context(), "request")
			require.NoError(t, l.Do(ctx, "orders:1", func(context.Context) error {
				_, err := l.TryLock(ctx, "orders:1")
				require.ErrorIs(t, err, redlock.ErrHeld)
				lk, _ := redlock.FromContext(ctx)
				require.Nil(t, lk)
				assert.Equal(t, int64(1), value(t, o.metrics(t)["redlock.held"], "kind=mutex"))
				time.Sleep(4 * time.Second) // the keepalive extends it once
				return nil
			}))
			parent.End()
			assert.Equal(t, int64(0), value(t, o.metrics(t)["redlock.held"], "kind=mutex"))
			assert.Equal(t, int64(round+1), value(t, o.metrics(t)["redlock.extensions"], "kind=mutex outcome=extended"))
			var told []string
			for _, s := range o.spans.Ended()[4*round:][:3] {
				assert.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
				outcome, _ := attributeSet(s).Value("redlock.outcome")
				told = append(told, s.Name()+" "+outcome.AsString()+" "+s.Status().Code.String())
			}
			assert.Equal(t, []string{
				"redlock.acquire acquired Unset", "redlock.acquire refused Error", "redlock.hold released Unset",
			}, told)
		}
	})
}

func attributeSet(s sdktrace.ReadOnlySpan) *attribute.Set {
	a := attribute.NewSet(s.Attributes()...)
	return &a
}

// value returns the value of a metric with these attributes.
func value(t *testing.T, m metricdata.Metrics, a string) int64 {
	t.Helper()
	var points []metricdata.DataPoint[int64]
	switch data := m.Data.(type) {
	case metricdata.Gauge[int64]:
		points = data.DataPoints
	case metricdata.Sum[int64]:
		points = data.DataPoints
	}
	want := attributes(a)
	for _, p := range points {
		if p.Attributes.Equals(&want) {
			return p.Value
		}
	}
	require.Fail(t, "no such value", "%s %s", m.Name, a)
	return 0
}

// README.md lists every metric, with its attributes.
func TestTheReadmeListsTheMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := observe(t, redlockotel.WithName(func(name string) string { return name }))
		lk, err := o.locker(t).Lock(t.Context(), "x")
		require.NoError(t, err)
		require.NoError(t, lk.Extend(t.Context()))
		require.NoError(t, lk.Unlock(t.Context()))
		reported := make(map[string][]string)
		for name, m := range o.metrics(t) {
			var a attribute.Set
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				a = data.DataPoints[0].Attributes
			case metricdata.Sum[int64]:
				a = data.DataPoints[0].Attributes
			case metricdata.Histogram[float64]:
				a = data.DataPoints[0].Attributes
			}
			for _, kv := range a.ToSlice() {
				reported[name] = append(reported[name], strings.TrimPrefix(string(kv.Key), "redlock."))
			}
		}
		text, err := os.ReadFile("README.md")
		require.NoError(t, err)
		documented := make(map[string][]string)
		for _, row := range regexp.MustCompile("(?m)^\\| `(redlock\\.[\\w.]+)` \\| ([\\w, ]+) \\|").
			FindAllStringSubmatch(string(text), -1) {
			documented[row[1]] = strings.Split(row[2], ", ")
		}
		require.Len(t, documented, len(reported))
		for name, attributes := range documented {
			assert.ElementsMatch(t, reported[name], attributes, name)
		}
	})
}

func event(kind redlock.Kind, name string) redlock.Event {
	return redlock.Event{Kind: kind, Name: name}
}
