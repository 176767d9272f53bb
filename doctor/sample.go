package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/resp"
)

const (
	samplesPerSpan  = 100
	groupsPerSpan   = 10                    // of samples, of which the quickest shows the clock
	minStep         = 10 * time.Millisecond // a smaller step cannot be distinguished from a slow reply
	fastest         = 1.02                  // how fast a server's clock may be; an uncertainty is in host time
	driftSuspicious = 0.5                   // of the budget
)

// takeSamples observes clock, round trip and identity of the server for the span, over the connection that is there:
// the first sample must not measure how long it takes to connect. Each sample takes a round trip, so a
// distant master has fewer. If the connection fails, takeSamples makes another one. It returns an error if the master
// does not answer at the end.
func (o *observer) takeSamples() error {
	t := &sampler{o: o, questions: []*question{
		{args: []any{"INFO", "server"}, read: func(s *sample, v any) { s.runID = resp.ParseInfo(fmt.Sprint(v))["run_id"] }},
		{args: []any{"CLIENT", "ID"}, read: func(s *sample, v any) { s.client = fmt.Sprint(v) }, refused: o.m.develops()},
	}}
	for i := 0; i <= samplesPerSpan; i++ {
		if err := o.sleepUntil(i, samplesPerSpan); err != nil {
			return err
		}
		if err := t.step(); err != nil {
			o.m.refused = append(o.m.refused, refusal{"TIME", err})
			return nil
		}
		i = max(i, int(o.clock.Now().Sub(o.began)*samplesPerSpan/o.span))
	}
	for silent(t.failure) && o.ctx.Err() == nil && o.clock.Now().Before(o.end.Add(grace)) {
		_ = t.step() // it may answer again
	}
	return t.failure
}

// sleepUntil waits until i of n parts of the span have passed.
func (o *observer) sleepUntil(i, n int) error {
	return clock.Sleep(o.ctx, o.clock, o.began.Add(o.span*time.Duration(i)/time.Duration(n)).Sub(o.clock.Now()))
}

// sampler takes samples over one connection at a time.
type sampler struct {
	o           *observer
	questions   []*question // about the identity
	taken       int
	connections int
	failure     error     // of the last sample
	since       time.Time // when the first sample was asked for that failed
}

// question is about the identity of the server.
type question struct {
	args    []any
	read    func(*sample, any)
	refused bool
}

// step takes a sample. After a failure it makes a new connection. It returns an error if the server refuses TIME.
func (t *sampler) step() error {
	asked := t.o.clock.Now()
	s, err := t.take(asked)
	switch {
	case err == nil && t.failure == nil:
		t.o.m.samples = append(t.o.m.samples, s)
	case err == nil: // its round trip is a part of the outage
		t.o.m.outages = append(t.o.m.outages, outage{took: s.answered.Sub(t.since), err: t.failure})
		t.failure = nil
	case replyerr.Is(err) && !dismissal(err):
		return err
	default:
		if t.failure == nil {
			t.failure, t.since = err, asked
		}
		t.o.conn.Close()
		t.o.conn = t.o.node.Connect()
		t.connections++
	}
	return nil
}

// take takes one sample, in one round trip. It notes once that the server refuses a question.
func (t *sampler) take(asked time.Time) (s sample, _ error) {
	commands := [][]any{{"time"}}
	var open []*question
	// The tenth sample does not ask who answers. Otherwise a proxy that sends the commands to three servers in turn
	// would send the same command always to the same one.
	if t.taken++; t.taken%10 != 0 {
		for _, q := range t.questions {
			if !q.refused {
				open, commands = append(open, q), append(commands, q.args)
			}
		}
	}
	answers := t.o.conn.DoAll(t.o.ctx, commands)
	answered := t.o.clock.Now()
	if err := answers[0].Err; err != nil {
		return s, err
	}
	server, err := serverTime(answers[0].Reply)
	if err != nil {
		return s, err
	}
	trip := answered.Sub(asked)
	s = sample{
		sighting: sighting{asked: asked, answered: answered}, at: asked.Add(trip / 2), server: server, roundTrip: trip,
		connection: t.connections,
	}
	for i, q := range open {
		switch err := answers[1+i].Err; {
		case err == nil:
			q.read(&s, answers[1+i].Reply)
		case !replyerr.Is(err):
			return s, err
		default:
			q.refused = true
			t.o.m.refused = append(t.o.m.refused, refusal{strings.TrimSpace(fmt.Sprintln(q.args...)), err})
		}
	}
	return s, nil
}

func serverTime(reply any) (time.Time, error) {
	parts, ok := reply.([]any)
	if !ok || len(parts) != 2 {
		return time.Time{}, errors.New("the reply to TIME is malformed")
	}
	seconds, err1 := strconv.ParseInt(fmt.Sprint(parts[0]), 10, 64)
	micros, err2 := strconv.ParseInt(fmt.Sprint(parts[1]), 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return time.Time{}, err
	}
	return time.Unix(seconds, micros*1000), nil
}

// gain is how much the server's clock gained on this host's between two samples.
type gain struct {
	by          time.Duration // how much the server's clock gained
	within      time.Duration // during this time of this host's clock
	first, last time.Duration // the round trips of the samples
}

// gains returns the gain from each group of samples to the next.
func (m *master) gains() []gain {
	var best []sample // the sample with the shortest round trip of each group
	for group := range slices.Chunk(m.samples, max(1, len(m.samples)/groupsPerSpan)) {
		best = append(best, slices.MinFunc(group, func(a, b sample) int { return cmp.Compare(a.roundTrip, b.roundTrip) }))
	}
	var all []gain
	for i := 1; i < len(best); i++ {
		a, b := best[i-1], best[i]
		within := b.at.Sub(a.at)
		all = append(all, gain{by: b.server.Sub(a.server) - within, within: within, first: a.roundTrip, last: b.roundTrip})
	}
	return all
}

// rate is in seconds gained per second.
func (g gain) rate() float64 { return float64(g.by) / float64(max(1, g.within)) }

// uncertainty is by how much the gain may differ: a server reads its clock at some moment of a round trip.
func (g gain) uncertainty() time.Duration {
	return time.Duration(fastest * float64(g.first+g.last) / 2)
}

// steps separates the steps of the server's clock from its drift, whose rate is in seconds gained per second. A gain is
// a step if it differs from the gain at the median rate by minStep more than the round trips of both explain.
func (m *master) steps() (steps []time.Duration, rate float64) {
	all := m.gains()
	if len(all) == 0 {
		return nil, 0
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b gain) int { return cmp.Compare(a.rate(), b.rate()) })
	median := sorted[len(sorted)/2]
	var by, within, uncertain time.Duration
	follows := false // the gain before counted, and ends at the sample where this one begins
	for _, g := range all {
		scale := float64(g.within) / float64(max(1, median.within))
		usual := time.Duration(scale * float64(median.by))
		uncertainty := float64(g.uncertainty()) + scale*float64(median.uncertainty())
		if (g.by - usual).Abs() > time.Duration(uncertainty)+minStep {
			steps, follows = append(steps, g.by), false
			continue
		}
		by, within, uncertain = by+g.by, within+g.within, uncertain+g.uncertainty()
		if follows { // both have this sample, with opposite signs: its uncertainty cancels out
			uncertain -= time.Duration(fastest * float64(g.first))
		}
		follows = true
	}
	if within > 0 && by.Abs() > uncertain {
		rate = float64(by.Abs()-uncertain) / float64(within) // the part of the drift that is certain
		if by < 0 {
			rate = -rate
		}
	}
	return steps, rate
}

// roundTrips returns the round trips of the samples, in order of their length.
func (m *master) roundTrips() (all []time.Duration) {
	for _, s := range m.samples {
		all = append(all, s.roundTrip)
	}
	slices.Sort(all)
	return all
}

// stalls returns the median of the round trips, and those above the limit if the median is not: the times in which the
// master gave no answer, the longest last. usual is the longest of the others but for one in a hundred, at least one.
func (m *master) stalls(limit time.Duration) (all []time.Duration, median, usual time.Duration) {
	trips := m.roundTrips()
	if len(trips) == 0 {
		return nil, 0, 0
	}
	if median = trips[(len(trips)-1)/2]; median > limit {
		return nil, median, median
	}
	n := len(trips)
	for n > 0 && trips[n-1] > limit {
		n--
	}
	all = trips[n:]
	for _, o := range m.outages {
		if silent(o.err) {
			all = append(all, o.took)
		}
	}
	slices.Sort(all)
	return all, median, trips[max(0, min(n*99/100, n-2))]
}
