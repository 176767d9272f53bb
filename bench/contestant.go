package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The names of the contestants, in flags, tables and JSON.
const (
	ours          = "redlock"
	oursSingle    = "redlock-1"
	oursReleased  = "redlock-nohandover"
	oursNine      = "redlock-9"
	peer          = "redsync"
	peerFailFast  = "redsync-failfast"
	singleMaster  = "redislock"
	singleRueidis = "rueidislock"
	bottom        = "floor"
	quorumMasters = 5
)

// A pairer locks and unlocks, from many goroutines at once.
type pairer interface {
	// Pair locks name, notes when it had the lock, and unlocks it. It tries once: a name that cannot be had is an error,
	// not a reason to sleep.
	Pair(ctx context.Context, name string) (marks, error)
	Close() error
}

// marks are when something happened between the beginning and the end of a pair.
type marks struct {
	locked   time.Time
	extended time.Time // zero where nothing was extended
}

// A taker of locks waits for one as its library does, and hands it out.
type taker interface {
	Take(ctx context.Context, name string) (grip, error)
	Close() error
}

// A grip is a lock that is held.
type grip interface {
	Extend(ctx context.Context) error
	Unlock(ctx context.Context) error
}

// A contestant is one way to lock, opened on the first Masters of the masters.
type contestant struct {
	Name    string `json:"name"`
	Masters int    `json:"masters"`
	Setup   string `json:"setup"` // how it is configured, for the report
	open    func(urls []string, o openOptions) (pairer, error)
	pairer  `json:"-"`
}

// openOptions are what every contestant is given alike.
type openOptions struct {
	ttl     time.Duration
	pool    int // connections that a peer's client may open to each master
	noGuard bool
	waits   bool // Take waits for a lock that another holds
}

// allContestants returns those of the latency part, in the order of the report's rows.
func allContestants() []*contestant {
	all := []*contestant{
		{Name: ours, Masters: quorumMasters, open: openRedlock,
			Setup: "Open(urls), TTL and restart window alike; keepalive on, as it is by default; one connection per master"},
	}
	for _, n := range []int{1, 3, 7, 9} {
		all = append(all, &contestant{Name: fmt.Sprintf("%s-%d", ours, n), Masters: n, open: openRedlock, Setup: "the same over " + masterCount(n)})
	}
	return append(all,
		&contestant{Name: peer, Masters: quorumMasters, open: openRedsync(false),
			Setup: "v4, goredis pools over go-redis v9 with its defaults but PoolSize as below; WithTries(1), so that no retry sleeps"},
		&contestant{Name: peerFailFast, Masters: quorumMasters, open: openRedsync(true), Setup: "the same with WithFailFast(true)"},
		&contestant{Name: peer + "-9", Masters: 9, open: openRedsync(false), Setup: "redsync over nine masters"},
		&contestant{Name: singleMaster, Masters: 1, open: openRedislock,
			Setup: "bsm/redislock over go-redis v9 with its defaults but PoolSize as below; no retry"},
		&contestant{Name: singleRueidis, Masters: 1, open: openRueidis,
			Setup: "rueidislock with KeyMajority 1 and NoLoopTracking, as its README says for one master of Redis 7; TryNextAfter a twentieth of the TTL, since its default of 20 ms fails under load"},
		&contestant{Name: bottom, Masters: quorumMasters, open: openFloor,
			Setup: "no client: as many prepared commands as there are callers, redlock's own two, written at once on one connection per master; a batch is done when a majority has answered, and all replies are compared"},
	)
}

func masterCount(n int) string {
	if n == 1 {
		return "one master"
	}
	return fmt.Sprintf("%d masters", n)
}

// pick returns the contestants named in a comma-separated list, all for an empty one, in the report's order.
func pick(all []*contestant, list string) ([]*contestant, error) {
	if list == "" {
		return all, nil
	}
	names := strings.Split(list, ",")
	var picked []*contestant
	for _, c := range all {
		if i := slices.Index(names, c.Name); i >= 0 {
			picked = append(picked, c)
			names = slices.Delete(names, i, i+1)
		}
	}
	if len(names) > 0 {
		var known []string
		for _, c := range all {
			known = append(known, c.Name)
		}
		return nil, fmt.Errorf("no contestant is called %q; there are %s", names[0], strings.Join(known, ", "))
	}
	return picked, nil
}

// among returns those whose names are in the list; all where it is empty.
func among(all []*contestant, list string) []*contestant {
	if list == "" {
		return all
	}
	names := strings.Split(list, ",")
	return slices.DeleteFunc(slices.Clone(all), func(c *contestant) bool { return !slices.Contains(names, c.Name) })
}
