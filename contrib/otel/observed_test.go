package redlockotel_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/metric/metricdata/metricdatatest"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

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
	l := redlocktest.NewLocker(t, 3, redlock.WithTrace(o.Trace()))
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

// attributesOf returns the attributes of the first value of a metric.
func attributesOf(m metricdata.Metrics) *attribute.Set {
	if data, ok := m.Data.(metricdata.Histogram[float64]); ok {
		return &data.DataPoints[0].Attributes
	}
	return &points(m)[0].Attributes
}

// points returns the points of a gauge or a counter.
func points(m metricdata.Metrics) []metricdata.DataPoint[int64] {
	if data, ok := m.Data.(metricdata.Gauge[int64]); ok {
		return data.DataPoints
	}
	return m.Data.(metricdata.Sum[int64]).DataPoints
}

// value returns the value of a metric with these attributes.
func value(t *testing.T, m metricdata.Metrics, a string) int64 {
	t.Helper()
	want := attributes(a)
	for _, p := range points(m) {
		if p.Attributes.Equals(&want) {
			return p.Value
		}
	}
	require.Fail(t, "no such value", "%s %s", m.Name, a)
	return 0
}
