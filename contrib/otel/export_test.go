package redlockotel

import (
	"go.opentelemetry.io/otel/metric"

	"github.com/redlock-go/redlock"
)

// ObserveStats is Observe of the Stats that a function returns.
func (t *Telemetry) ObserveStats(stats func() redlock.Stats) (metric.Registration, error) {
	return t.observe(stats)
}
