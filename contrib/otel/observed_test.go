package redlockotel_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
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

// metric is what is compared of a metric.
type metric struct {
	about  string            // type, unit and description
	values map[string]string // by attributes
}

// text returns attributes without the prefix of their keys: "kind=mutex outcome=acquired".
func text(s attribute.Set) string {
	var all []string
	for _, a := range s.ToSlice() {
		all = append(all, strings.TrimPrefix(string(a.Key), "redlock.")+"="+a.Value.String())
	}
	return strings.Join(all, " ")
}

var bounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600}

// metrics returns the metrics by name. It shows a histogram as its sum and the upper bounds of the buckets that its
// values are in.
func (o *observed) metrics(t *testing.T) map[string]metric {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, o.reader.Collect(t.Context(), &data))
	all := make(map[string]metric)
	for _, s := range data.ScopeMetrics {
		assert.Equal(t, "github.com/redlock-go/redlock/contrib/otel", s.Scope.Name)
		for _, m := range s.Metrics {
			kind, values := "gauge", make(map[string]string)
			var numbers []metricdata.DataPoint[int64]
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				numbers = data.DataPoints
			case metricdata.Sum[int64]:
				kind, numbers = "counter", data.DataPoints
				assert.True(t, data.IsMonotonic && data.Temporality == metricdata.CumulativeTemporality, m.Name)
			case metricdata.Histogram[float64]:
				kind = "histogram"
				assert.Equal(t, metricdata.CumulativeTemporality, data.Temporality)
				for _, p := range data.DataPoints {
					require.Equal(t, bounds, p.Bounds)
					shown := fmt.Sprint(p.Sum)
					for i, n := range p.BucketCounts {
						shown += strings.Repeat(fmt.Sprint(" ", bounds[min(i, len(bounds)-1)]), int(n))
					}
					values[text(p.Attributes)] = shown
				}
			}
			for _, p := range numbers {
				values[text(p.Attributes)] = strconv.FormatInt(p.Value, 10)
			}
			all[m.Name] = metric{kind + " " + m.Unit + ": " + m.Description, values}
		}
	}
	return all
}

type numbers map[string]int64

func (n numbers) values() map[string]string {
	values := make(map[string]string)
	for a, value := range n {
		values[a] = strconv.FormatInt(value, 10)
	}
	return values
}

func gauge(description string, n numbers) metric { return metric{"gauge : " + description, n.values()} }

func counter(description string, n numbers) metric {
	return metric{"counter : " + description, n.values()}
}
