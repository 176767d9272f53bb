package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
	"github.com/redlock-go/redlock/bench/internal/load"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// wanCallers are the numbers of callers: one without contention, and many that share the connections.
var wanCallers = []int{1, 256}

// wanContestants returns the requested contestants. A smoke run measures only redlock, to which the targets apply.
func wanContestants(s *settings) []*peers.Contestant {
	only := s.contestants
	if only == "" && s.smoke {
		only = peers.Redlock
	}
	return peers.Filter([]*peers.Contestant{
		{Name: peers.Redlock, Masters: peers.QuorumMasters, Open: peers.OpenRedlock},
		{Name: peers.Redsync, Masters: peers.QuorumMasters, Open: peers.OpenRedsync(false)},
		{Name: peers.RedsyncFailFast, Masters: peers.QuorumMasters, Open: peers.OpenRedsync(true)},
	}, only)
}

const (
	wanTrips      = 25 // minimum number of pairs of a single caller in a slice
	wanLeastSlice = 500 * time.Millisecond
	wanSmokeTrips = 8
	wanRounds     = 3 // maximum, since far masters are slow
	handOverTime  = 4 * time.Second
	handOverSmoke = 1500 * time.Millisecond
)

// wanSlice returns a slice long enough for some pairs of one caller, which locks, extends and unlocks.
func (s *settings) wanSlice(p report.WANProfile) time.Duration {
	trips := wanTrips
	if s.smoke {
		trips = wanSmokeTrips
	}
	d := time.Duration(trips) * 3 * p.Third()
	return s.sliceOf(max(d, wanLeastSlice), d)
}

func wanPart(ctx context.Context, s *session) (err error) {
	far, err := delayMasters(s.masters.URLs[:peers.QuorumMasters])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, far.close()) }()
	s.progress.stage("wan: %d profiles", len(s.profiles))
	for _, p := range s.profiles {
		far.set(p)
		w, err := s.measureFar(ctx, p, far.urls)
		if err != nil {
			return err
		}
		s.report.WAN = append(s.report.WAN, w)
	}
	return nil
}

// measureFar measures one profile with new clients, since what a client has learned about other links would distort the
// result.
func (s *session) measureFar(ctx context.Context, p report.WANProfile, urls []string) (w *report.WAN, err error) {
	all, closeAll, err := s.readyAll(
		ctx,
		wanContestants(s.settings),
		urls,
		peers.Options{TTL: s.ttl, Pool: wanCallers[len(wanCallers)-1]},
	)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	for _, c := range all {
		c.Pairer = load.ExtendingPairer{Acquirer: c.Pairer.(load.Acquirer)}
	}
	w = &report.WAN{Profile: p}
	plan := latencyPlan{
		part:    "wan, " + p.Name,
		rounds:  min(s.rounds, s.roundsFor(wanRounds)),
		callers: wanCallers,
		slice:   s.wanSlice(p),
		ramp:    3 * p.Third(),
	}
	if err := warmUp(ctx, plan, all, s.progress); err != nil {
		return nil, err
	}
	if w.Rows, err = measureLatency(ctx, plan, all, s.progress); err != nil {
		return nil, err
	}
	w.HandOver, err = handOver(ctx, s, p, urls)
	return w, err
}

// handOver measures how a few goroutines of two processes share one name over far links.
func handOver(
	ctx context.Context,
	s *session,
	p report.WANProfile,
	urls []string,
) (rows []*report.ContentionRow, err error) {
	for _, c := range wanContestants(s.settings) {
		if c.Name == peers.RedsyncFailFast {
			continue
		}
		s.progress.live("wan, %s: hand-over, %s", p.Name, c.Name)
		row := &report.ContentionRow{Shape: report.Shape{Processes: 2, Goroutines: 4}, Contestant: c.Name, Masters: c.Masters}
		job := job{
			Contestant: c.Name,
			URLs:       urls,
			TTL:        s.ttl,
			Window:     s.rampOf(handOverTime, handOverSmoke),
			Ramp:       3 * p.Third(),
			Goroutines: row.Shape.Goroutines,
		}
		if err := addContentionRound(ctx, row, job); err != nil {
			return nil, fmt.Errorf("%s, hand-over of %s: %w", p.Name, c.Name, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// delayedMasters are masters whose traffic goes through delaying proxies.
type delayedMasters struct {
	proxies []*delay.Proxy
	urls    []string
}

// delayMasters puts a proxy in front of each master. The proxies delay nothing before set is called.
func delayMasters(urls []string) (*delayedMasters, error) {
	f := &delayedMasters{}
	for _, text := range urls {
		u, err := url.Parse(text)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		if u.Scheme != "redis" {
			return nil, errors.Join(fmt.Errorf("%s masters cannot be moved away: use redis://", u.Scheme), f.close())
		}
		if u.Port() == "" {
			u.Host = net.JoinHostPort(u.Hostname(), "6379")
		}
		p, err := delay.New(u.Host, delay.Link{}, nil)
		if err != nil {
			return nil, errors.Join(err, f.close())
		}
		f.proxies = append(f.proxies, p)
		u.Host = p.Addr()
		f.urls = append(f.urls, u.String())
	}
	return f, nil
}

func (f *delayedMasters) set(p report.WANProfile) {
	for i, proxy := range f.proxies {
		proxy.Set(linkTo(p, i))
	}
}

func (f *delayedMasters) close() error {
	var all []error
	for _, p := range f.proxies {
		all = append(all, p.Close())
	}
	return errors.Join(all...)
}
