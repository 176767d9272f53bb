package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/node"
)

const (
	burstsPerSpan   = 10 // and one more at its beginning
	samplesPerBurst = 10
	minStep         = 10 * time.Millisecond // a smaller step cannot be distinguished from a slow reply
	driftSuspicious = 0.5                   // of the budget
)

// takeBursts observes clock, round trip and identity of the server for the span.
func (o *observer) takeBursts(span time.Duration) {
	began := o.clock.Now()
	for i := range burstsPerSpan + 1 {
		wait := began.Add(span * time.Duration(i) / burstsPerSpan).Sub(o.clock.Now())
		if err := clock.Sleep(o.ctx, o.clock, wait); err != nil {
			o.m.failure = err
			return
		}
		r, err := o.takeBurst(i == 0)
		if err != nil {
			o.note("TIME", err)
			return
		}
		o.m.bursts = append(o.m.bursts, r)
	}
}

// takeBurst takes one round of samples. Only the first round notes that an identity is not reported.
func (o *observer) takeBurst(first bool) (r burst, _ error) {
	for range samplesPerBurst {
		sent := o.clock.Now()
		reply, err := o.conn.Do(o.ctx, "time")
		if err != nil {
			return r, err
		}
		trip := o.clock.Now().Sub(sent)
		server, err := serverTime(reply)
		if err != nil {
			return r, err
		}
		r.samples = append(r.samples, sample{at: sent.Add(trip / 2), server: server, roundTrip: trip})
	}
	// One after the other, because a proxy may send the commands of one batch to the same server.
	for _, q := range []struct {
		args []any
		into *string
		read func(any) string
	}{
		{[]any{"CLIENT", "ID"}, &r.client, func(v any) string { return fmt.Sprint(v) }},
		{[]any{"INFO", "server"}, &r.runID, func(v any) string { return parseInfo(fmt.Sprint(v))["run_id"] }},
	} {
		reply, err := o.conn.Do(o.ctx, q.args...)
		switch {
		case err == nil:
			*q.into = q.read(reply)
		case !node.IsReply(err):
			return r, err
		case first:
			o.note(question(q.args), err)
		}
	}
	return r, nil
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

// gain is how much the server's clock gained on this host's between two bursts, and how uncertain that is.
type gain struct {
	by          time.Duration // how much the server's clock gained
	within      time.Duration // during this time of this host's clock
	uncertainty time.Duration
}

// gains returns the gain from each burst to the next.
func (m *master) gains() []gain {
	var best []sample // the sample with the shortest round trip of each burst
	for _, r := range m.bursts {
		best = append(best, slices.MinFunc(r.samples, func(a, b sample) int { return cmp.Compare(a.roundTrip, b.roundTrip) }))
	}
	var all []gain
	for i := 1; i < len(best); i++ {
		a, b := best[i-1], best[i]
		within := b.at.Sub(a.at)
		all = append(all, gain{
			by: b.server.Sub(a.server) - within, within: within, uncertainty: (a.roundTrip + b.roundTrip) / 2,
		})
	}
	return all
}

// steps separates the steps of the server's clock from its drift, whose rate is in seconds gained per second. A gain is
// a step if it is far from the median gain.
func (m *master) steps() (steps []time.Duration, rate float64) {
	all := m.gains()
	if len(all) == 0 {
		return nil, 0
	}
	sorted := slices.SortedFunc(slices.Values(all), func(a, b gain) int { return cmp.Compare(a.by, b.by) })
	median := sorted[len(sorted)/2].by
	var by, within, uncertain time.Duration
	for _, g := range all {
		if (g.by - median).Abs() > g.uncertainty+minStep {
			steps = append(steps, g.by)
			continue
		}
		by, within, uncertain = by+g.by, within+g.within, max(uncertain, g.uncertainty)
	}
	if within > 0 && by.Abs() > uncertain {
		rate = float64(by.Abs()-uncertain) / float64(within) // the part of the drift that is certain
		if by < 0 {
			rate = -rate
		}
	}
	return steps, rate
}

// roundTrips returns the median and the 99th percentile of the round trips; 0 if there are none.
func (m *master) roundTrips() (median, p99 time.Duration) {
	var all []time.Duration
	for _, r := range m.bursts {
		for _, s := range r.samples {
			all = append(all, s.roundTrip)
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)*99/100]
}
