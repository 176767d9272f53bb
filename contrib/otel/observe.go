package redlockotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/redlock-go/redlock"
)

// instruments are those that read Stats.
type instruments struct {
	meter metric.Meter
	all   []metric.Observable
	errs  []error
}

func (i *instruments) gauge(name, description string) metric.Int64ObservableGauge {
	g, err := i.meter.Int64ObservableGauge(name, metric.WithDescription(description))
	i.all, i.errs = append(i.all, g), append(i.errs, err)
	return g
}

func (i *instruments) counter(name, description string) metric.Int64ObservableCounter {
	c, err := i.meter.Int64ObservableCounter(name, metric.WithDescription(description))
	i.all, i.errs = append(i.all, c), append(i.errs, err)
	return c
}

// Observe makes the metrics that read the Locker's Stats at every collection, until the registration is unregistered.
// They ask no master.
func (t *Telemetry) Observe(locker *redlock.Locker) (metric.Registration, error) {
	return t.observe(locker.Stats)
}

func (t *Telemetry) observe(stats func() redlock.Stats) (metric.Registration, error) {
	i := &instruments{meter: t.meter}
	held := i.gauge("redlock.held", "Locks that are held now.")
	waiting := i.gauge("redlock.waiting", "Acquisitions in progress.")
	state := i.gauge("redlock.node.state", "1 for the present state of a master, 0 for the others.")
	votes := i.counter("redlock.node.votes", "Votes of a master, over all operations.")
	requests := i.counter("redlock.node.requests", "Requests that were written.")
	batches := i.counter("redlock.node.batches", "Batches of requests that were written.")
	queued := i.gauge("redlock.node.queued", "Requests that wait to be written.")
	inFlight := i.gauge("redlock.node.inflight", "Requests that were written and have no reply.")
	unconfirmed := i.gauge("redlock.node.unconfirmed", "Releases that a master has not confirmed in time.")
	duplicates := i.counter("redlock.node.duplicates", "Rounds in which this master and another were one server.")
	if err := errors.Join(i.errs...); err != nil {
		return nil, err
	}
	return t.meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		s := stats()
		for _, k := range s.Kinds {
			kind := metric.WithAttributes(keyKind.String(string(k.Kind)))
			o.ObserveInt64(held, k.Held, kind)
			o.ObserveInt64(waiting, k.Waiting, kind)
		}
		for _, n := range s.Nodes {
			node := func(more ...attribute.KeyValue) metric.ObserveOption {
				return metric.WithAttributes(append(more, keyNode.String(n.Node))...)
			}
			for _, s := range []redlock.State{
				redlock.NodeVoting, redlock.NodeRestarting, redlock.NodeSuspect, redlock.NodeBarred, redlock.NodeUnknown,
			} {
				present := int64(0)
				if s == n.State {
					present = 1
				}
				o.ObserveInt64(state, present, node(keyState.String(string(s))))
			}
			for verdict, count := range map[string]int64{
				"granted": n.Granted, "denied": n.Denied, "failed": n.Failed, "unknown": n.Unknown,
			} {
				o.ObserveInt64(votes, count, node(keyVerdict.String(verdict)))
			}
			o.ObserveInt64(requests, n.Requests, node())
			o.ObserveInt64(batches, n.Batches, node())
			o.ObserveInt64(queued, int64(n.Queued), node())
			o.ObserveInt64(inFlight, int64(n.InFlight), node())
			o.ObserveInt64(unconfirmed, int64(n.Unconfirmed), node())
			o.ObserveInt64(duplicates, n.Duplicates, node())
		}
		return nil
	}, i.all...)
}
