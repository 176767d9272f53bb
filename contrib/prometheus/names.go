package redlockprom

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlock-go/redlock"
)

// Names is a prometheus.Collector that counts by the name of the lock. It is for programs with few names, or with names
// that fall into few groups: every value of the label is a time series.
//
//	names := redlockprom.NewNames(func(name string) string { group, _, _ := strings.Cut(name, ":"); return group })
//	locker, err := redlock.Open(urls, redlock.WithTrace(names.Trace()))
//	registry.MustRegister(names)
type Names struct {
	label        func(name string) string
	acquisitions *prometheus.CounterVec
	holds        *prometheus.CounterVec
	held         *prometheus.GaugeVec
}

var _ prometheus.Collector = (*Names)(nil)

// NewNames returns a Names. label maps the name of a lock to a label. A lock whose label is "" is not counted. label
// must be safe for concurrent use.
func NewNames(label func(name string) string) *Names {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Names{
		label:        label,
		acquisitions: counter("redlock_name_acquisitions_total", "Acquisitions that ended.", "name", "outcome"),
		holds:        counter("redlock_name_holds_total", "Holds that ended.", "name", "outcome"),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "redlock_name_held", Help: "Locks that are held now.",
		}, []string{"name"}),
	}
}

// Trace returns the hooks that count.
func (n *Names) Trace() *redlock.Trace {
	return &redlock.Trace{
		AcquireEnd: func(_ context.Context, e redlock.AcquireEndEvent) {
			label := n.label(e.Name)
			if label == "" {
				return
			}
			n.acquisitions.WithLabelValues(label, string(e.Outcome)).Inc()
			if e.Outcome == redlock.OutcomeAcquired {
				n.held.WithLabelValues(label).Inc()
			}
		},
		HoldEnd: func(_ context.Context, e redlock.HoldEndEvent) {
			if label := n.label(e.Name); label != "" {
				n.holds.WithLabelValues(label, string(e.Outcome)).Inc()
				n.held.WithLabelValues(label).Dec()
			}
		},
	}
}

// Describe sends the descriptions of the metrics.
func (n *Names) Describe(out chan<- *prometheus.Desc) {
	for _, c := range []prometheus.Collector{n.acquisitions, n.holds, n.held} {
		c.Describe(out)
	}
}

// Collect sends the metrics.
func (n *Names) Collect(out chan<- prometheus.Metric) {
	for _, c := range []prometheus.Collector{n.acquisitions, n.holds, n.held} {
		c.Collect(out)
	}
}
