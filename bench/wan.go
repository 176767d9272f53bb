package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
)

// wanCallers are one that waits for nobody, and a crowd that shares the connections.
var wanCallers = []int{1, 256}

// wanReport is one profile's figures.
type wanReport struct {
	Profile  wanProfile       `json:"profile"`
	Rows     []*row           `json:"rows"`
	HandOver []*contentionRow `json:"hand_over"` // one name, wanted by a few goroutines of two processes
}

func (w *wanReport) row(callers int, name string) *row {
	if w == nil {
		return nil
	}
	return rowOf(w.Rows, callers, name)
}

// wanContestants are those that were asked for; in a smoke run only ours, whom the targets are about.
func wanContestants(s *settings) []*contestant {
	only := s.only
	if only == "" && s.smoke {
		only = ours
	}
	return among([]*contestant{
		{Name: ours, Masters: quorumMasters, open: openRedlock},
		{Name: peer, Masters: quorumMasters, open: openRedsync(false)},
		{Name: peerFailFast, Masters: quorumMasters, open: openRedsync(true)},
	}, only)
}

const (
	wanTrips      = 25 // pairs of a lone caller in a slice, at least
	wanLeastSlice = 500 * time.Millisecond
	wanSmokeTrips = 8
	wanRounds     = 3 // at most: far masters take their time
	handOverTime  = 4 * time.Second
	handOverSmoke = 1500 * time.Millisecond
)

// wanSlice is long enough for some pairs of a caller: each locks, extends and unlocks.
func (s *settings) wanSlice(p wanProfile) time.Duration {
	trips := wanTrips
	if s.smoke {
		trips = wanSmokeTrips
	}
	d := time.Duration(trips) * 3 * p.third()
	return s.sliceOf(max(d, wanLeastSlice), d)
}

func wanPart(ctx context.Context, s *session) (err error) {
	far, err := moveAway(s.masters.urls[:quorumMasters])
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

// measureFar measures one profile. The clients are new to it: what they learned of other links would be in their way.
func (s *session) measureFar(ctx context.Context, p wanProfile, urls []string) (w *wanReport, err error) {
	all, closeAll, err := s.readyAll(ctx, wanContestants(s.settings), urls, openOptions{ttl: s.ttl, pool: wanCallers[len(wanCallers)-1]})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, closeAll()) }()
	for _, c := range all {
		c.pairer = triple{c.pairer.(taker)}
	}
	w = &wanReport{Profile: p}
	plan := latencyPlan{part: "wan, " + p.Name, rounds: min(s.rounds, s.roundsFor(wanRounds)), callers: wanCallers, slice: s.wanSlice(p), ramp: 3 * p.third()}
	if err := warmUp(ctx, plan, all, s.progress); err != nil {
		return nil, err
	}
	if w.Rows, err = measureLatency(ctx, plan, all, s.progress); err != nil {
		return nil, err
	}
	w.HandOver, err = handOver(ctx, s, p, urls)
	return w, err
}

// handOver has a few goroutines of two processes want one name over far links.
func handOver(ctx context.Context, s *session, p wanProfile, urls []string) (rows []*contentionRow, err error) {
	for _, c := range wanContestants(s.settings) {
		if c.Name == peerFailFast {
			continue
		}
		s.progress.live("wan, %s: hand-over, %s", p.Name, c.Name)
		row := &contentionRow{Shape: shape{Processes: 2, Goroutines: 4}, Contestant: c.Name, Masters: c.Masters}
		job := job{Contestant: c.Name, URLs: urls, TTL: s.ttl, Window: s.rampOf(handOverTime, handOverSmoke), Ramp: 3 * p.third(), Goroutines: row.Shape.Goroutines}
		if err := row.measure(ctx, job); err != nil {
			return nil, fmt.Errorf("%s, hand-over of %s: %w", p.Name, c.Name, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// triple locks, extends and unlocks.
type triple struct{ taker }

func (t triple) Pair(ctx context.Context, name string) (m marks, err error) {
	g, err := t.Take(ctx, name)
	m.locked = time.Now()
	if err != nil {
		return m, err
	}
	err = g.Extend(ctx)
	m.extended = time.Now()
	return m, errors.Join(err, g.Unlock(ctx))
}

// far are masters behind proxies that delay.
type far struct {
	proxies []*delay.Proxy
	urls    []string
}

// moveAway puts a proxy before each master. It delays nothing until it is told to.
func moveAway(urls []string) (*far, error) {
	f := &far{}
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

func (f *far) set(p wanProfile) {
	for i, proxy := range f.proxies {
		proxy.Set(p.link(i))
	}
}

func (f *far) close() error {
	var all []error
	for _, p := range f.proxies {
		all = append(all, p.Close())
	}
	return errors.Join(all...)
}
