package suite

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

const (
	faultCallers = 16
	faultTTL     = 30 * time.Second // so long that no residue expires before it is counted
	healthyFor   = 3 * time.Second
	healthySmoke = 1500 * time.Millisecond
	faultRamp    = 500 * time.Millisecond
	loadAfter    = 1700 * time.Millisecond // from the end of the fault to the end of the load
)

func faultContestants(s *settings) []*peers.Contestant {
	all := peers.Filter([]*peers.Contestant{
		{Name: peers.Redlock, Masters: peers.QuorumMasters, Open: peers.OpenRedlock},
		{Name: peers.Redsync, Masters: peers.QuorumMasters, Open: peers.OpenRedsync(false)},
	}, s.contestants)
	if s.smoke && s.contestants == "" {
		return all[:1]
	}
	return all
}

// faultsPart measures every fault under the load of every contestant. Each fault hits another master.
func faultsPart(ctx context.Context, s *session) error {
	if len(s.masters.Hosts) < peers.QuorumMasters {
		s.progress.stage("faults: left out, since no fault is done to masters that are not this run's own")
		return nil
	}
	for i, sc := range s.faults {
		for _, c := range faultContestants(s.settings) {
			victim := peers.QuorumMasters - 1 - i%peers.QuorumMasters
			s.progress.stage("faults: %s, master %d of %d %s, about %v", c.Name, victim+1, peers.QuorumMasters, sc.What,
				(s.healthy() + sc.Lasts + report.LeftoverDelay).Round(time.Second))
			f, err := s.measureOneFault(ctx, sc, c, victim)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", sc.Name, c.Name, err)
			}
			s.report.Faults = append(s.report.Faults, f)
		}
	}
	return nil
}

func (s *settings) healthy() time.Duration { return s.rampOf(healthyFor, healthySmoke) }

func (s *session) measureOneFault(
	ctx context.Context,
	sc fault,
	c *peers.Contestant,
	at int,
) (f *report.Fault, err error) {
	if err := s.masters.Flush(ctx); err != nil { // only this contestant's residue counts
		return nil, err
	}
	v := &faultTarget{host: s.masters.Hosts[at]}
	if v.proxy, err = delay.New(v.host.Addr(), delay.Link{}, nil); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.proxy.Close()) }()
	urls := append([]string(nil), s.masters.URLs[:peers.QuorumMasters]...)
	if sc.Name == "slow" { // the other faults are measured without the delay of a proxy
		urls[at] = (&url.URL{Scheme: "redis", Host: v.proxy.Addr()}).String()
	}
	f = &report.Fault{
		Scenario:   sc.Scenario,
		Contestant: c.Name,
		Callers:    faultCallers,
		Rate:       s.rate,
		TTL:        faultTTL,
		Guard:      !s.smoke,
	}
	if err := ready(ctx, c, urls, peers.Options{TTL: f.TTL, Pool: f.Callers, NoGuard: !f.Guard}, s.progress); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	warm := load.Load{Callers: faultCallers, Ramp: faultRamp, Window: faultRamp, Prefix: "warm:" + c.Name}
	if _, err := warm.Run(ctx, c.Pairer); err != nil {
		return nil, err
	}
	if err := measureFault(ctx, f, sc, s.healthy(), c.Pairer, v); err != nil {
		return nil, err
	}
	f.Left, f.Few, err = s.masters.KeysLeft(ctx, at)
	return f, err
}

// measureFault runs the load before, during and after the fault. It returns at least report.LeftoverDelay after the
// fault's end.
func measureFault(
	ctx context.Context,
	f *report.Fault,
	sc fault,
	healthy time.Duration,
	p load.Pairer,
	v *faultTarget,
) error {
	t := &load.Timeline{Base: time.Now()}
	var began, ended time.Time
	faulty := make(chan error, 1)
	l := load.Load{
		Callers: f.Callers,
		Rate:    f.Rate,
		Window:  healthy + f.Scenario.Lasts + loadAfter,
		Prefix:  "fault:" + f.Contestant,
		OnPair:  t.Note,
	}
	inflicting := false
	l.OnOpen = func() error {
		inflicting = true
		go func() { faulty <- sc.run(ctx, healthy, v, &began, &ended) }()
		return nil
	}
	s, err := l.Run(ctx, p)
	if inflicting {
		err = errors.Join(err, <-faulty)
	}
	if err != nil {
		return err
	}
	if err := load.Sleep(ctx, report.LeftoverDelay-time.Since(ended)); err != nil {
		return err
	}
	from, to := began.Sub(t.Base), ended.Sub(t.Base)
	f.From, f.To = from.Seconds(), to.Seconds()
	f.Timeline = t.Moments(to + loadAfter)
	before, failedBefore := t.Between(0, from)
	during, failedDuring := t.Between(from, to)
	since, failedSince := t.Between(to, to+report.LeftoverDelay)
	f.HealthyP50, f.HealthyP99, _ = load.PercentilesOf(before)
	f.FaultP50, f.FaultP99, f.Longest = load.PercentilesOf(during)
	_, _, after := load.PercentilesOf(since)
	f.Longest = max(f.Longest, after)
	f.Pairs, f.Failed = len(before)+len(during)+len(since), failedBefore+failedDuring+failedSince
	if f.Pairs == 0 {
		return fmt.Errorf("no pair was completed: %v", s.Failure) //nolint:errorlint // it may be nil
	}
	return nil
}

// run waits for after, injects the fault into v, heals it, and records both times. It also heals the fault if ctx ends.
func (sc fault) run(ctx context.Context, after time.Duration, v *faultTarget, began, ended *time.Time) error {
	if err := load.Sleep(ctx, after); err != nil {
		return err
	}
	*began = time.Now()
	if err := sc.inject(ctx, v); err != nil {
		return err
	}
	early := load.Sleep(ctx, sc.Lasts)
	*ended = time.Now()
	return errors.Join(early, sc.heal(context.WithoutCancel(ctx), v))
}
