package suite

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/internal/redisproc"
)

const (
	faultCallers = 16
	faultTTL     = 30 * time.Second // so long that no residue expires before it is counted
	faultRamp    = 500 * time.Millisecond
	loadAfter    = 1700 * time.Millisecond // from the end of the fault to the end of the load
	leftAfter    = 2 * time.Second         // from the fault's end until the keys that are left are counted
	slowTrip     = 100 * time.Millisecond
)

// A fault hurts one master in the middle of a steady load.
type fault struct {
	name, what   string
	lasts        time.Duration
	inject, heal func(ctx context.Context, v *victim) error
}

// A victim is the master that suffers the fault. Its proxy can delay its traffic.
type victim struct {
	*redisproc.Server
	proxy *delay.Proxy
}

func allFaults() []fault {
	frozen := func(d time.Duration) fault {
		return fault{
			"frozen-" + d.String(), "frozen for " + d.String(), d,
			func(_ context.Context, v *victim) error { return v.Freeze() },
			func(_ context.Context, v *victim) error { return v.Thaw() },
		}
	}
	return []fault{
		frozen(2 * time.Second),
		frozen(5 * time.Second),
		frozen(12 * time.Second),
		{
			"slow", "100ms away for 3s", 3 * time.Second,
			func(_ context.Context, v *victim) error { v.proxy.Set(delay.Link{RTT: slowTrip}); return nil },
			func(_ context.Context, v *victim) error { v.proxy.Set(delay.Link{}); return nil },
		},
		// This fault comes last, because a restarted master may not vote for a while.
		{
			"killed", "killed and back empty 3s later", 3 * time.Second,
			func(_ context.Context, v *victim) error { return v.Kill() },
			func(ctx context.Context, v *victim) error { return v.Start(ctx) },
		},
	}
}

// faultsPart measures every fault under the load of every contestant. Each fault hits another master.
func faultsPart(ctx context.Context, s *session) error {
	if len(s.masters.Servers) < peers.QuorumMasters {
		s.say("faults: left out, since no fault is done to masters that are not this run's own")
		return nil
	}
	for i, f := range s.faults {
		for _, c := range peers.Named(peers.Faulty, s.choose(s.contestants, "", peers.Redlock)) {
			at := peers.QuorumMasters - 1 - i%peers.QuorumMasters
			s.say("faults: %s, master %d of %d %s", c.Name, at+1, peers.QuorumMasters, f.what)
			if err := s.measureFault(ctx, f, c, at); err != nil {
				return fmt.Errorf("%s, %s: %w", f.name, c.Name, err)
			}
		}
	}
	return nil
}

func (s *session) measureFault(ctx context.Context, f fault, c *peers.Contestant, at int) (err error) {
	if err := s.masters.Flush(ctx); err != nil { // only this contestant's residue counts
		return err
	}
	v := &victim{Server: s.masters.Servers[at]}
	if v.proxy, err = delay.New(v.Addr(), delay.Link{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.proxy.Close()) }()
	urls := append([]string(nil), s.masters.URLs[:peers.QuorumMasters]...)
	if f.name == "slow" { // the other faults are measured without the delay of a proxy
		urls[at] = "redis://" + v.proxy.Addr()
	}
	// A smoke run has the restart guard off: its masters are too young for this TTL, but do not restart.
	if err := ready(ctx, c, urls, peers.Options{TTL: faultTTL, Pool: faultCallers, NoGuard: s.smoke}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	warm := load.Load{Callers: faultCallers, Ramp: faultRamp, Window: faultRamp, Prefix: "warm:" + c.Name}
	if _, err := warm.Run(ctx, c); err != nil {
		return err
	}
	if err := s.loadThrough(ctx, f, c, v); err != nil {
		return err
	}
	left, few, err := s.masters.KeysLeft(ctx, at)
	if left > 0 {
		s.report.Note("%s, %s: left on the master: %s", f.what, peers.Label(c.Name), strings.Join(few, ", "))
	}
	s.report.Add("faults", f.what, c.Name, load.Value{Name: "keys left", V: float64(left)})
	return err
}

// loadThrough runs the load before, during and after the fault, and adds its figures. It returns at least leftAfter
// after the fault's end.
func (s *session) loadThrough(ctx context.Context, f fault, c *peers.Contestant, v *victim) error {
	healthy := either(s.settings, 3*time.Second, 1500*time.Millisecond)
	var began, ended time.Time
	done := make(chan error, 1)
	l := load.Load{Callers: faultCallers, Window: healthy + f.lasts + loadAfter, Prefix: "fault:" + c.Name}
	l.OnOpen = func() {
		go func() { done <- f.run(ctx, healthy, v, &began, &ended) }()
	}
	sample, err := l.Run(ctx, c)
	if sample != nil && sample.From > 0 {
		err = errors.Join(err, <-done)
	}
	if err != nil {
		return err
	}
	if err := load.Sleep(ctx, leftAfter-time.Since(ended)); err != nil {
		return err
	}
	from, to := began.Sub(sample.Begun), ended.Sub(sample.Begun)
	before, pairs, failed := sample.Between(0, from)
	during, _, _ := sample.Between(from, to)
	since, more, missed := sample.Between(from, to+leftAfter)
	if pairs, failed = pairs+more, failed+missed; pairs == 0 {
		return fmt.Errorf("no pair was completed: %s", sample.Reason())
	}
	ms := func(d time.Duration) float64 { return load.Micros(d) / 1000 }
	s.report.Add("faults", f.what, c.Name,
		load.Value{Name: "healthy p50 ms", V: ms(before.P50)}, load.Value{Name: "healthy p99 ms", V: ms(before.P99)},
		load.Value{Name: "p50 ms", V: ms(during.P50)}, load.Value{Name: "p99 ms", V: ms(during.P99)},
		load.Value{Name: "p99 by allowed", V: ms(during.P99) / (1.5*ms(before.P99) + 1)},
		load.Value{Name: "longest ms", V: ms(since.Longest)}, // of all that began in the fault or after it
		load.Value{Name: "failed", V: float64(failed)},
	)
	s.report.Count("faults", f.what, c.Name, pairs, failed, sample.Reason())
	return nil
}

// run waits for after, injects the fault into v, heals it, and records both times. It also heals the fault if ctx ends.
func (f fault) run(ctx context.Context, after time.Duration, v *victim, began, ended *time.Time) error {
	if err := load.Sleep(ctx, after); err != nil {
		return err
	}
	*began = time.Now()
	if err := f.inject(ctx, v); err != nil {
		return err
	}
	early := load.Sleep(ctx, f.lasts)
	*ended = time.Now()
	return errors.Join(early, f.heal(context.WithoutCancel(ctx), v))
}
