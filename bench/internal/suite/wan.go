package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/redlock-go/redlock/bench/internal/delay"
	"github.com/redlock-go/redlock/bench/internal/peers"
	"github.com/redlock-go/redlock/bench/internal/report"
)

// A profile says how far away the five masters are: the round trip to each.
type profile struct {
	name   string
	trips  []time.Duration
	jitter float64 // each direction takes up to this share longer
	lossy  int     // which master is behind a link that loses segments, from 1; 0: none
	loss   float64 // which share of them
}

func allProfiles() []profile {
	trips := func(ms ...time.Duration) (all []time.Duration) {
		for _, n := range ms {
			all = append(all, n*time.Millisecond)
		}
		return all
	}
	return []profile{
		{name: "one-region", trips: trips(1, 1, 2, 2, 3)},
		{name: "three-regions", trips: trips(1, 1, 25, 25, 70)},
		{name: report.FiveContinents, trips: trips(1, 10, 40, 80, 160)},
		{name: "five-continents-rough", trips: trips(1, 10, 40, 80, 160), jitter: 0.1, lossy: 3, loss: 0.01},
	}
}

// resend is the minimum time, in addition to the round trip, after which Linux sends a lost TCP segment again.
const resend = 200 * time.Millisecond

// linkTo returns the delays of the link to master i.
func (p profile) linkTo(i int) delay.Link {
	l := delay.Link{RTT: p.trips[i], Jitter: p.jitter}
	if p.lossy == i+1 {
		l.Loss, l.Resend = p.loss, resend+p.trips[i]
	}
	return l
}

// third is the round trip to the third nearest master, which a majority of five needs.
func (p profile) third() time.Duration {
	return slices.Sorted(slices.Values(p.trips))[len(p.trips)/2]
}

const (
	manyFar       = 256 // callers that share the connections
	wanTrips      = 25  // minimum number of pairs of a single caller in a slice
	wanSmokeTrips = 8
	wanLeastSlice = 500 * time.Millisecond
)

// wanPart measures each profile with new clients, since what a client has learned about other links would distort the
// result. A smoke run measures only redlock, to which the targets apply.
func wanPart(ctx context.Context, s *session) error {
	only := s.choose(s.contestants, "", peers.Redlock)
	for _, p := range s.profiles {
		if err := s.measureFar(ctx, p, only); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (s *session) measureFar(ctx context.Context, p profile, only string) (err error) {
	s.report.Note("wan, %s: round trips of %v; multiples of %v", p.name, p.trips, p.third())
	urls, closeLinks, err := delayed(s.masters.URLs[:peers.QuorumMasters], p.linkTo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeLinks()) }()
	trips := time.Duration(either(s.settings, wanTrips, wanSmokeTrips)) * 3 * p.third()
	err = s.measureLoad(ctx, peers.Named(peers.Far, only), urls, loadPlan{
		part: "wan", prefix: p.name + ", ", rounds: min(s.rounds, either(s.settings, longRounds, 1)),
		callers: []int{1, manyFar}, ramp: 3 * p.third(), extend: true, unit: p.third(),
		slice: s.sliceOf(max(trips, wanLeastSlice), trips),
	})
	if err != nil {
		return err
	}
	for _, c := range peers.Named([]string{peers.Redlock, peers.Redsync}, only) {
		in := fmt.Sprintf("%s far away, %s", p.name, report.Shape(2, 4))
		if err := s.contend(ctx, "contention", in, c, 2, job{
			URLs: urls, Goroutines: 4, Window: either(s.settings, 4*time.Second, 1500*time.Millisecond), Ramp: 3 * p.third(),
		}); err != nil {
			return fmt.Errorf("hand-over of %s: %w", c.Name, err)
		}
	}
	return nil
}

// delayed puts a proxy in front of each master. It returns the URLs of the proxies, and a function that closes them.
func delayed(urls []string, link func(i int) delay.Link) (far []string, closeAll func() error, err error) {
	var proxies []*delay.Proxy
	closeAll = func() error {
		var errs []error
		for _, p := range proxies {
			errs = append(errs, p.Close())
		}
		return errors.Join(errs...)
	}
	for i, text := range urls {
		u, err := url.Parse(text)
		if err == nil && u.Scheme != "redis" {
			err = fmt.Errorf("%s masters cannot be moved away: use redis://", u.Scheme)
		}
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		if u.Port() == "" {
			u.Host = net.JoinHostPort(u.Hostname(), "6379")
		}
		p, err := delay.New(u.Host, link(i))
		if err != nil {
			return nil, nil, errors.Join(err, closeAll())
		}
		proxies = append(proxies, p)
		u.Host = p.Addr()
		far = append(far, u.String())
	}
	return far, closeAll, nil
}
