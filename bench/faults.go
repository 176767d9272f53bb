package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
)

const (
	faultCallers = 16
	faultTTL     = 30 * time.Second // so long that no leftover ends by itself while we look
	healthyFor   = 3 * time.Second
	healthySmoke = 1500 * time.Millisecond
	faultRamp    = 500 * time.Millisecond
	lookAfter    = 2 * time.Second         // from the fault's end to the look at what is left
	loadAfter    = 1700 * time.Millisecond // from the fault's end to the load's
)

// faultReport is what a fault on one of five masters does to everybody's locks.
type faultReport struct {
	Scenario   scenario      `json:"scenario"`
	Contestant string        `json:"contestant"`
	Callers    int           `json:"callers"`
	Rate       float64       `json:"rate,omitempty"`
	TTL        time.Duration `json:"ttl_ns"`
	Guard      bool          `json:"restart_guard"`
	From       float64       `json:"fault_from_s"` // in the timeline
	To         float64       `json:"fault_to_s"`
	HealthyP99 float64       `json:"healthy_p99_us"`
	HealthyP50 float64       `json:"healthy_p50_us"`
	FaultP50   float64       `json:"fault_p50_us"`
	FaultP99   float64       `json:"fault_p99_us"`
	Longest    float64       `json:"longest_us"` // of all that began in the fault or after it
	Pairs      int           `json:"pairs"`
	Failed     int64         `json:"failed"`
	Left       int64         `json:"keys_left"` // on the master, two seconds after the fault's end
	Few        []string      `json:"some_keys_left,omitempty"`
	Timeline   []moment      `json:"timeline"`
}

func faultContestants(s *settings) []*contestant {
	all := among([]*contestant{
		{Name: ours, Masters: quorumMasters, open: openRedlock},
		{Name: peer, Masters: quorumMasters, open: openRedsync(false)},
	}, s.only)
	if s.smoke && s.only == "" {
		return all[:1]
	}
	return all
}

// faultsPart has one master after the other fail under the load of one contestant after the other.
func faultsPart(ctx context.Context, s *session) error {
	if len(s.masters.hosts) < quorumMasters {
		s.progress.stage("faults: left out, since no fault is done to masters that are not this run's own")
		return nil
	}
	for i, sc := range s.scenarios {
		for _, c := range faultContestants(s.settings) {
			victim := quorumMasters - 1 - i%quorumMasters
			s.progress.stage("faults: %s, master %d of %d %s, about %v", c.Name, victim+1, quorumMasters, sc.What,
				(s.healthy() + sc.Lasts + lookAfter).Round(time.Second))
			f, err := s.oneFault(ctx, sc, c, victim)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", sc.Name, c.Name, err)
			}
			s.report.Faults = append(s.report.Faults, f)
		}
	}
	return nil
}

func (s *settings) healthy() time.Duration { return s.rampOf(healthyFor, healthySmoke) }

func (s *session) oneFault(ctx context.Context, sc scenario, c *contestant, at int) (f *faultReport, err error) {
	if err := s.masters.flush(ctx); err != nil { // nobody's leftovers but this contestant's
		return nil, err
	}
	v := &victim{host: s.masters.hosts[at]}
	if v.proxy, err = delay.New(v.host.Addr(), delay.Link{}, nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.proxy.Close()) }()
	urls := append([]string(nil), s.masters.urls[:quorumMasters]...)
	if sc.Name == "slow" { // the others' figures are without a proxy's time
		urls[at] = (&url.URL{Scheme: "redis", Host: v.proxy.Addr()}).String()
	}
	f = &faultReport{Scenario: sc, Contestant: c.Name, Callers: faultCallers, Rate: s.rate, TTL: faultTTL, Guard: !s.smoke}
	if err := ready(ctx, c, urls, openOptions{ttl: f.TTL, pool: f.Callers, noGuard: !f.Guard}, s.progress); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	warm := load{callers: faultCallers, ramp: faultRamp, window: faultRamp, prefix: "warm:" + c.Name}
	if _, err := warm.run(ctx, c.pairer); err != nil {
		return nil, err
	}
	if err := f.measure(ctx, s.healthy(), c.pairer, v); err != nil {
		return nil, err
	}
	f.Left, f.Few, err = s.masters.left(ctx, at)
	return f, err
}

// measure runs the load through the fault, and returns two seconds after the fault's end.
func (f *faultReport) measure(ctx context.Context, healthy time.Duration, p pairer, v *victim) error {
	t := &timeline{base: time.Now()}
	var began, ended time.Time
	faulty := make(chan error, 1)
	l := load{callers: f.Callers, rate: f.Rate, window: healthy + f.Scenario.Lasts + loadAfter, prefix: "fault:" + f.Contestant, watch: t.note}
	inflicting := false
	l.opened = func() error {
		inflicting = true
		go func() { faulty <- f.Scenario.inflict(ctx, healthy, v, &began, &ended) }()
		return nil
	}
	s, err := l.run(ctx, p)
	if inflicting {
		err = errors.Join(err, <-faulty)
	}
	if err != nil {
		return err
	}
	if err := pause(ctx, lookAfter-time.Since(ended)); err != nil {
		return err
	}
	from, to := began.Sub(t.base), ended.Sub(t.base)
	f.From, f.To = from.Seconds(), to.Seconds()
	f.Timeline = t.moments(to + loadAfter)
	before, failedBefore := t.between(0, from)
	during, failedDuring := t.between(from, to)
	since, failedSince := t.between(to, to+lookAfter)
	f.HealthyP50, f.HealthyP99, _ = percentilesOf(before)
	f.FaultP50, f.FaultP99, f.Longest = percentilesOf(during)
	_, _, after := percentilesOf(since)
	f.Longest = max(f.Longest, after)
	f.Pairs, f.Failed = len(before)+len(during)+len(since), failedBefore+failedDuring+failedSince
	if f.Pairs == 0 {
		return fmt.Errorf("no pair was completed: %v", s.failure)
	}
	return nil
}

// inflict does the fault to v after a while, and notes when. The fault is ended also when ctx ends meanwhile.
func (sc scenario) inflict(ctx context.Context, after time.Duration, v *victim, began, ended *time.Time) error {
	if err := pause(ctx, after); err != nil {
		return err
	}
	*began = time.Now()
	if err := sc.begin(ctx, v); err != nil {
		return err
	}
	early := pause(ctx, sc.Lasts)
	*ended = time.Now()
	return errors.Join(early, sc.end(context.WithoutCancel(ctx), v))
}
