package redlockotel_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/redlock-go/redlock"
	redlockotel "github.com/redlock-go/redlock/contrib/otel"
	"github.com/redlock-go/redlock/redlocktest"
)

// observed is a Locker, and what it reports.
type observed struct {
	*redlock.Locker
	masters []*redlocktest.Master
	tracers *sdktrace.TracerProvider
	spans   *tracetest.SpanRecorder
	reader  *sdkmetric.ManualReader
}

func open(t *testing.T, opts ...redlockotel.Option) *observed {
	t.Helper()
	o := &observed{
		masters: redlocktest.Start(t, 3), spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader(),
	}
	o.tracers = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader))
	telemetry, err := redlockotel.New(append(opts,
		redlockotel.WithTracerProvider(o.tracers), redlockotel.WithMeterProvider(meters))...)
	require.NoError(t, err)
	o.Locker, err = redlock.Open(
		redlocktest.URLs(o.masters), redlock.WithoutRestartGuard(), redlock.WithNodeTimeout(5*time.Second),
		redlock.WithTrace(telemetry.Trace()),
	)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, o.Close()) })
	registration, err := telemetry.Observe(o.Locker)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, registration.Unregister()) })
	return o
}

// metrics returns the values by name and attributes; of a histogram, its count.
func (o *observed) metrics(t *testing.T) map[string]int64 {
	t.Helper()
	var data metricdata.ResourceMetrics
	require.NoError(t, o.reader.Collect(t.Context(), &data))
	values := make(map[string]int64)
	put := func(name string, a attribute.Set, value int64) {
		for _, kv := range a.ToSlice() {
			name += " " + kv.Value.AsString()
		}
		values[name] = value
	}
	for _, s := range data.ScopeMetrics {
		for _, m := range s.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					put(m.Name, p.Attributes, int64(p.Count))
				}
			}
		}
	}
	return values
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	o := open(t)
	lk, err := o.Lock(t.Context(), "orders:1")
	require.NoError(t, err)
	require.NoError(t, lk.Extend(t.Context()))
	_, err = o.TryLock(t.Context(), "orders:1")
	require.ErrorIs(t, err, redlock.ErrHeld)
	m := o.metrics(t)
	assert.EqualValues(t, 1, m["redlock.held mutex"])
	assert.EqualValues(t, 1, m["redlock.acquire.duration mutex acquired"])
	assert.EqualValues(t, 1, m["redlock.acquire.duration mutex refused"])
	assert.EqualValues(t, 1, m["redlock.extensions mutex extended"])
	node := strings.TrimPrefix(o.masters[0].URL(), "redis://")
	assert.EqualValues(t, 1, m["redlock.node.state "+node+" voting"])
	assert.Positive(t, m["redlock.node.votes "+node+" granted"])
	require.NoError(t, lk.Unlock(t.Context()))
	m = o.metrics(t)
	assert.EqualValues(t, 0, m["redlock.held mutex"])
	assert.EqualValues(t, 1, m["redlock.hold.duration mutex released"])
}

func TestSpansAreChildrenOfTheCallers(t *testing.T) {
	t.Parallel()
	o := open(t, redlockotel.WithName(func(name string) string { group, _, _ := strings.Cut(name, ":"); return group }))
	ctx, parent := o.tracers.Tracer("test").Start(t.Context(), "request")
	require.NoError(t, o.Do(ctx, "orders:1", func(context.Context) error {
		_, err := o.TryLock(ctx, "orders:1")
		require.ErrorIs(t, err, redlock.ErrHeld)
		return nil
	}))
	parent.End()
	var told []string
	for _, s := range o.spans.Ended() {
		if s.Name() == "request" {
			continue
		}
		assert.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
		assert.Equal(t, parent.SpanContext().TraceID(), s.SpanContext().TraceID())
		assert.False(t, s.StartTime().After(s.EndTime()))
		attributes := attribute.NewSet(s.Attributes()...)
		outcome, _ := attributes.Value("redlock.outcome")
		name, _ := attributes.Value("redlock.name")
		assert.Equal(t, "orders", name.AsString())
		assert.Equal(t, outcome.AsString() == "refused", s.Status().Code == codes.Error)
		told = append(told, s.Name()+" "+outcome.AsString())
	}
	assert.Equal(t, []string{"redlock.acquire acquired", "redlock.acquire refused", "redlock.hold released"}, told)
}

// README.md lists every metric.
func TestTheReadmeListsTheMetrics(t *testing.T) {
	t.Parallel()
	o := open(t)
	lk, err := o.Lock(t.Context(), "x")
	require.NoError(t, err)
	require.NoError(t, lk.Extend(t.Context()))
	require.NoError(t, lk.Unlock(t.Context()))
	names := make(map[string]bool)
	for key := range o.metrics(t) {
		name, _, _ := strings.Cut(key, " ")
		names[name] = true
	}
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	documented := make(map[string]bool)
	for _, row := range regexp.MustCompile("(?m)^\\| `(redlock\\.[\\w.]+)`").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = true
	}
	assert.Equal(t, names, documented)
}
