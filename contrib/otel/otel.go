// Package redlockotel reports what redlock does as OpenTelemetry metrics and spans.
//
//	telemetry, err := redlockotel.New()
//	locker, err := redlock.Open(urls, redlock.WithTrace(telemetry.Trace()))
//	registration, err := telemetry.Observe(locker)
//
// Every acquisition and every hold is a span: redlock.acquire and redlock.hold, children of the span in the context
// that was passed to Lock. A span is recorded when it ends.
package redlockotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlock-go/redlock"
)

const scope = "github.com/redlock-go/redlock/contrib/otel"

// The attributes.
const (
	keyKind     = attribute.Key("redlock.kind")
	keyName     = attribute.Key("redlock.name")
	keyOutcome  = attribute.Key("redlock.outcome")
	keyAttempts = attribute.Key("redlock.attempts")
	keyNode     = attribute.Key("redlock.node")
	keyVerdict  = attribute.Key("redlock.verdict")
	keyState    = attribute.Key("redlock.state")
)

// bounds are the bounds of the histograms' buckets, in seconds. The SDK's default bounds, from 5 to 10,000, are for
// milliseconds.
var bounds = []float64{
	0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600,
}

// Telemetry makes metrics and spans of one Locker. With several Lockers in a process, give each Telemetry a
// MeterProvider of its own, with a resource that differs. In one provider, their gauges replace each other and their
// counters add up.
type Telemetry struct {
	label  func(name string) string
	tracer trace.Tracer
	meter  metric.Meter

	acquireDuration, holdDuration metric.Float64Histogram
	extensions                    metric.Int64Counter
}

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
	label   func(name string) string
}

// An Option configures a [Telemetry].
type Option func(*config)

// WithTracerProvider sets the provider of the spans. Default: otel.GetTracerProvider.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// WithMeterProvider sets the provider of the metrics. Default: otel.GetMeterProvider.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// WithName sets the function that maps the name of a lock to the attribute redlock.name; "" means no attribute. Every
// value is a time series of its own. The function must be safe for concurrent use. Default: no attribute.
func WithName(label func(name string) string) Option { return func(c *config) { c.label = label } }

// New returns a Telemetry.
func New(opts ...Option) (*Telemetry, error) {
	c := config{
		tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider(),
		label: func(string) string { return "" },
	}
	for _, o := range opts {
		if o == nil {
			return nil, errors.New("redlockotel: a nil Option")
		}
		o(&c)
	}
	t := &Telemetry{label: c.label, tracer: c.tracers.Tracer(scope), meter: c.meters.Meter(scope)}
	var err error
	t.acquireDuration, err = t.meter.Float64Histogram("redlock.acquire.duration", metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(bounds...),
		metric.WithDescription("How long acquisitions took, by outcome."))
	if err != nil {
		return nil, err
	}
	t.holdDuration, err = t.meter.Float64Histogram("redlock.hold.duration", metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(bounds...),
		metric.WithDescription("How long locks were held, by outcome."))
	if err != nil {
		return nil, err
	}
	t.extensions, err = t.meter.Int64Counter("redlock.extensions",
		metric.WithDescription("Extensions, by outcome: extended or failed."))
	return t, err
}

// Trace returns the hooks that record durations, extensions and spans.
func (t *Telemetry) Trace() *redlock.Trace {
	return &redlock.Trace{
		AcquireEnd: func(ctx context.Context, e redlock.AcquireEndEvent) {
			attributes := t.attributes(e.Event, string(e.Outcome))
			t.acquireDuration.Record(ctx, e.Took.Seconds(), metric.WithAttributes(attributes...))
			t.span(ctx, "redlock.acquire", e.Took, e.Err, append(attributes, keyAttempts.Int(e.Attempts)))
		},
		HoldEnd: func(ctx context.Context, e redlock.HoldEndEvent) {
			attributes := t.attributes(e.Event, string(e.Outcome))
			t.holdDuration.Record(ctx, e.Held.Seconds(), metric.WithAttributes(attributes...))
			t.span(ctx, "redlock.hold", e.Held, e.Err, attributes)
		},
		Extended: func(ctx context.Context, e redlock.ExtendedEvent) {
			outcome := "extended"
			if e.Err != nil {
				outcome = "failed"
			}
			t.extensions.Add(ctx, 1, metric.WithAttributes(t.attributes(e.Event, outcome)...))
		},
	}
}

// span records a span that ends now.
func (t *Telemetry) span(ctx context.Context, name string, took time.Duration, err error, a []attribute.KeyValue) {
	now := time.Now()
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(now.Add(-took)), trace.WithAttributes(a...))
	if err != nil {
		span.SetStatus(codes.Error, err.Error())
	}
	span.End(trace.WithTimestamp(now))
}

func (t *Telemetry) attributes(e redlock.Event, outcome string) []attribute.KeyValue {
	a := append(make([]attribute.KeyValue, 0, 4), keyKind.String(string(e.Kind)), keyOutcome.String(outcome))
	if label := t.label(e.Name); label != "" {
		a = append(a, keyName.String(label))
	}
	return a
}
