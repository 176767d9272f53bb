package redlockotel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/redlock-go/redlock"
	redlockotel "github.com/redlock-go/redlock/contrib/otel"
)

// master is the stats of a master in which every number differs: n and the next ones, times f.
func master(name string, state redlock.State, n, f int64) redlock.NodeStats {
	return redlock.NodeStats{
		NodeState: redlock.NodeState{Node: name, State: state},
		Granted:   (n + 1) * f, Denied: (n + 2) * f, Failed: (n + 3) * f, Unknown: (n + 4) * f, Dropped: (n + 11) * f,
		Requests: (n + 5) * f, Batches: (n + 6) * f, Queued: int((n + 7) * f), InFlight: int((n + 8) * f),
		Unconfirmed: int((n + 9) * f), Duplicates: (n + 10) * f,
	}
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
			Nodes: []redlock.NodeStats{master("a:1", state, 10, f), master("b:2", redlock.NodeSuspect, 30, f)},
		}
		states := numbers{}
		for _, node := range []string{"a:1", "b:2"} {
			for _, one := range []string{"voting", "restarting", "suspect", "barred", "unknown"} {
				states["node="+node+" state="+one] = 0
			}
		}
		states["node=a:1 state="+string(state)], states["node=b:2 state=suspect"] = 1, 1
		nodes := func(a, b int64) numbers { return numbers{"node=a:1": a * f, "node=b:2": b * f} }
		assert.Equal(t, map[string]metric{
			"redlock.held":       gauge("Locks that are held now.", numbers{"kind=mutex": f, "kind=reader": 3 * f}),
			"redlock.waiting":    gauge("Acquisitions in progress.", numbers{"kind=mutex": 2 * f, "kind=reader": 4 * f}),
			"redlock.node.state": gauge("1 for the present state of a master, 0 for the others.", states),
			"redlock.node.votes": counter("Votes of a master, over all operations.", numbers{
				"node=a:1 verdict=granted": 11 * f, "node=a:1 verdict=denied": 12 * f,
				"node=a:1 verdict=failed": 13 * f, "node=a:1 verdict=unknown": 14 * f,
				"node=b:2 verdict=granted": 31 * f, "node=b:2 verdict=denied": 32 * f,
				"node=b:2 verdict=failed": 33 * f, "node=b:2 verdict=unknown": 34 * f,
			}),
			"redlock.node.requests":    counter("Requests that were written.", nodes(15, 35)),
			"redlock.node.batches":     counter("Batches of requests that were written.", nodes(16, 36)),
			"redlock.node.queued":      gauge("Requests that wait to be written.", nodes(17, 37)),
			"redlock.node.inflight":    gauge("Requests that were written and have no reply.", nodes(18, 38)),
			"redlock.node.unconfirmed": gauge("Releases that a master has not confirmed in time.", nodes(19, 39)),
			"redlock.node.duplicates":  counter("Rounds in which this master and another were one server.", nodes(20, 40)),
		}, o.metrics(t))
	}
	require.NoError(t, registration.Unregister())
	assert.Empty(t, o.metrics(t))
}

func TestANilOption(t *testing.T) {
	t.Parallel()
	_, err := redlockotel.New(nil)
	require.EqualError(t, err, "redlockotel: a nil Option")
}

// span is what is compared of a span. Times count from the beginning of the test.
type span struct {
	name       string
	start, end time.Duration
	attributes string
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
		assert.Equal(t, map[string]metric{
			"redlock.acquire.duration": {"histogram s: How long acquisitions took, by outcome.", map[string]string{
				"kind=mutex name=orders outcome=acquired": "1.502 0.0025 2.5",
				"kind=reader name=orders outcome=refused": "0.003 0.005",
				"kind=mutex outcome=timed_out":            "2 2.5",
			}},
			"redlock.hold.duration": {"histogram s: How long locks were held, by outcome.", map[string]string{
				"kind=mutex name=orders outcome=released":    "0.06 0.025 0.05",
				"kind=mutex name=orders outcome=handed_over": "2 2.5",
				"kind=writer name=orders outcome=lost":       "1 1",
			}},
			"redlock.extensions": counter("Extensions, by outcome: extended or failed.", numbers{
				"kind=mutex name=orders outcome=extended": 3, "kind=mutex name=orders outcome=failed": 2,
			}),
		}, o.metrics(t))

		ok, failed := sdktrace.Status{}, sdktrace.Status{Code: codes.Error, Description: "the reason"}
		want := []span{
			{"redlock.acquire", 1998 * ms, 2000 * ms, "attempts=1 kind=mutex name=orders outcome=acquired", ok},
			{"redlock.acquire", 2500 * ms, 4000 * ms, "attempts=3 kind=mutex name=orders outcome=acquired", ok},
			{"redlock.acquire", 5997 * ms, 6000 * ms, "attempts=2 kind=reader name=orders outcome=refused", failed},
			{"redlock.acquire", 6000 * ms, 8000 * ms, "attempts=0 kind=mutex outcome=timed_out", failed},
			{"redlock.hold", 9960 * ms, 10000 * ms, "kind=mutex name=orders outcome=released", ok},
			{"redlock.hold", 10000 * ms, 12000 * ms, "kind=mutex name=orders outcome=handed_over", ok},
			{"redlock.hold", 13000 * ms, 14000 * ms, "kind=writer name=orders outcome=lost", failed},
			{"redlock.hold", 15980 * ms, 16000 * ms, "kind=mutex name=orders outcome=released", ok},
		}
		var got []span
		for _, s := range o.spans.Ended() {
			assert.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
			assert.Equal(t, parent.SpanContext().TraceID(), s.SpanContext().TraceID())
			assert.Equal(t, trace.SpanKindInternal, s.SpanKind())
			assert.Empty(t, s.Events())
			assert.Equal(t, "github.com/redlock-go/redlock/contrib/otel", s.InstrumentationScope().Name)
			got = append(got, span{
				s.Name(), s.StartTime().Sub(began), s.EndTime().Sub(began), text(attribute.NewSet(s.Attributes()...)), s.Status(),
			})
		}
		assert.Equal(t, want, got)
	})
}

// A Locker reports through the hooks and through Observe. A second lock is reported as the first. Without WithName
// nothing has the name of a lock.
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
				assert.Equal(t, "1", o.metrics(t)["redlock.held"].values["kind=mutex"])
				time.Sleep(4 * time.Second) // the keepalive extends it once
				return nil
			}))
			parent.End()
			reported := o.metrics(t)
			assert.Equal(t, "0", reported["redlock.held"].values["kind=mutex"])
			assert.Equal(t, strconv.Itoa(round+1), reported["redlock.extensions"].values["kind=mutex outcome=extended"])
			var told []string
			for _, s := range o.spans.Ended()[4*round:][:3] {
				assert.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
				told = append(told, s.Name()+" "+text(attribute.NewSet(s.Attributes()...))+" "+s.Status().Code.String())
			}
			assert.Equal(t, []string{
				"redlock.acquire attempts=1 kind=mutex outcome=acquired Unset",
				"redlock.acquire attempts=0 kind=mutex outcome=refused Error", "redlock.hold kind=mutex outcome=released Unset",
			}, told)
		}
		for name, m := range o.metrics(t) {
			assert.NotContains(t, fmt.Sprint(m.values), "name=", name)
		}
	})
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
			for set := range m.values {
				reported[name] = regexp.MustCompile(`\w+=`).FindAllString(set, -1)
			}
		}
		text, err := os.ReadFile("README.md")
		require.NoError(t, err)
		documented := make(map[string][]string)
		for _, row := range regexp.MustCompile("(?m)^\\| `(redlock\\.[\\w.]+)` \\| ([\\w, ]+) \\|").
			FindAllStringSubmatch(string(text), -1) {
			documented[row[1]] = strings.Split(strings.ReplaceAll(row[2], ",", "=")+"=", " ")
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
