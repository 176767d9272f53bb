// Package redlockprom exposes the Stats of a redlock.Locker as Prometheus metrics.
//
//	registry.MustRegister(redlockprom.New(locker))
//
// rules.yml and dashboard.json in this directory are the alerts and the dashboard for these metrics.
package redlockprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/redlock-go/redlock"
)

// metric is one row of the table of metrics.
type metric struct {
	name, help string
	labels     []string
	kind       prometheus.ValueType // 0: a histogram
}

const (
	histogram = prometheus.ValueType(0)
	counter   = prometheus.CounterValue
	gauge     = prometheus.GaugeValue
)

// The metrics. The documents have the same table.
var (
	held         = metric{"redlock_held", "Locks that are held now.", []string{"kind"}, gauge}
	waiting      = metric{"redlock_waiting", "Acquisitions in progress.", []string{"kind"}, gauge}
	acquisitions = metric{
		"redlock_acquisitions_total", "Acquisitions that ended.", []string{"kind", "outcome"}, counter,
	}
	holds       = metric{"redlock_holds_total", "Holds that ended.", []string{"kind", "outcome"}, counter}
	extensions  = metric{"redlock_extensions_total", "Extensions that ended.", []string{"kind", "outcome"}, counter}
	waitSeconds = metric{
		"redlock_wait_seconds", "How long the acquisitions took that acquired the lock.", []string{"kind"}, histogram,
	}
	holdSeconds = metric{"redlock_hold_seconds", "How long locks were held.", []string{"kind"}, histogram}

	nodeState = metric{
		"redlock_node_state", "1 for the present state of a master, 0 for the others.", []string{"node", "state"}, gauge,
	}
	nodeVoteIn = metric{
		"redlock_node_vote_in_seconds", "How long a restarted master may not vote.", []string{"node"}, gauge,
	}
	nodeVotes = metric{
		"redlock_node_votes_total", "Votes of a master, over all operations.", []string{"node", "verdict"}, counter,
	}
	nodeDropped = metric{
		"redlock_node_dropped_requests_total", "Requests that were not sent because their round had ended.",
		[]string{"node"},
		counter,
	}
	nodeLatency = metric{
		"redlock_node_latency_seconds", "Time from a request to its vote, of granted and denied votes.",
		[]string{"node"},
		histogram,
	}
	nodeQueued = metric{
		"redlock_node_queued_requests", "Requests that wait to be written.", []string{"node"}, gauge,
	}
	nodeInFlight = metric{
		"redlock_node_inflight_requests", "Requests that were written and have no reply.", []string{"node"}, gauge,
	}
	nodeBatches = metric{
		"redlock_node_batches_total", "Batches of requests that were written.", []string{"node"}, counter,
	}
	nodeRequests = metric{"redlock_node_requests_total", "Requests that were written.", []string{"node"}, counter}
	nodeReleases = metric{
		"redlock_node_unconfirmed_releases", "Releases that a master has not confirmed in time.", []string{"node"}, gauge,
	}
	nodeDuplicates = metric{
		"redlock_node_duplicates_total", "Rounds in which this master and another were one server.",
		[]string{"node"},
		counter,
	}
)

// Collector is a prometheus.Collector of the Stats of one Locker. With several Lockers in a process, register each
// Collector through prometheus.WrapRegistererWith, with a label of its own.
type Collector struct{ stats func() redlock.Stats }

var _ prometheus.Collector = (*Collector)(nil)

// New returns a Collector for a Locker. The Collector reads the Locker's Stats at every scrape, and asks no master.
func New(locker *redlock.Locker) *Collector { return &Collector{stats: locker.Stats} }

// Describe sends the descriptions of all metrics.
func (c *Collector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, out) }

// Collect sends all metrics, those of locks from one consistent snapshot.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	s := c.stats()
	for _, k := range s.Kinds {
		collectKind(out, k)
	}
	for _, n := range s.Nodes {
		collectNode(out, n)
	}
}

func collectKind(out chan<- prometheus.Metric, k redlock.KindStats) {
	kind := string(k.Kind)
	held.send(out, float64(k.Held), kind)
	waiting.send(out, float64(k.Waiting), kind)
	for outcome, n := range map[redlock.Outcome]int64{
		redlock.OutcomeAcquired: k.Acquired, redlock.OutcomeRefused: k.Refused, redlock.OutcomeTimedOut: k.TimedOut,
		redlock.OutcomeCanceled: k.Canceled, redlock.OutcomeFailed: k.Failed, redlock.OutcomeClosed: k.ClosedWaiting,
	} {
		acquisitions.send(out, float64(n), kind, string(outcome))
	}
	for outcome, n := range map[redlock.Outcome]int64{
		redlock.OutcomeReleased: k.Released, redlock.OutcomeHandedOver: k.HandedOver,
		redlock.OutcomeLost: k.Lost, redlock.OutcomeClosed: k.ClosedHeld,
	} {
		holds.send(out, float64(n), kind, string(outcome))
	}
	extensions.send(out, float64(k.Extended), kind, "extended")
	extensions.send(out, float64(k.ExtensionFailures), kind, "failed")
	waitSeconds.sendHistogram(out, k.Waits, kind)
	holdSeconds.sendHistogram(out, k.Holds, kind)
}

func collectNode(out chan<- prometheus.Metric, n redlock.NodeStats) {
	for _, state := range []redlock.State{
		redlock.NodeVoting, redlock.NodeRestarting, redlock.NodeSuspect, redlock.NodeBarred, redlock.NodeUnknown,
	} {
		present := 0.0
		if state == n.State {
			present = 1
		}
		nodeState.send(out, present, n.Node, string(state))
	}
	nodeVoteIn.send(out, n.VoteIn.Seconds(), n.Node)
	for verdict, count := range map[string]int64{
		"granted": n.Granted, "denied": n.Denied, "failed": n.Failed, "unknown": n.Unknown,
	} {
		nodeVotes.send(out, float64(count), n.Node, verdict)
	}
	nodeDropped.send(out, float64(n.Dropped), n.Node)
	nodeLatency.sendHistogram(out, n.Latency, n.Node)
	nodeQueued.send(out, float64(n.Queued), n.Node)
	nodeInFlight.send(out, float64(n.InFlight), n.Node)
	nodeBatches.send(out, float64(n.Batches), n.Node)
	nodeRequests.send(out, float64(n.Requests), n.Node)
	nodeReleases.send(out, float64(n.Unconfirmed), n.Node)
	nodeDuplicates.send(out, float64(n.Duplicates), n.Node)
}

func (m metric) desc() *prometheus.Desc { return prometheus.NewDesc(m.name, m.help, m.labels, nil) }

func (m metric) send(out chan<- prometheus.Metric, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(m.desc(), m.kind, value, labels...)
}

func (m metric) sendHistogram(out chan<- prometheus.Metric, h redlock.Histogram, labels ...string) {
	buckets, below := make(map[float64]uint64, len(h.Bounds)), uint64(0)
	for i, bound := range h.Bounds {
		below += uint64(h.Counts[i])
		buckets[bound.Seconds()] = below
	}
	out <- prometheus.MustNewConstHistogram(m.desc(), uint64(h.Count), h.Sum.Seconds(), buckets, labels...)
}
