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
	peer          = "redsync"
	peerFailFast  = "redsync-failfast"
	singleMaster  = "redislock"
	quorumMasters = 5
)

// A pairer locks and unlocks, from many goroutines at once.
type pairer interface {
	// Pair locks name, notes when it had the lock, and unlocks it. It tries once: a name that cannot be had is an error,
	// not a reason to sleep.
	Pair(ctx context.Context, name string) (locked time.Time, err error)
	Close() error
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
}

// allContestants returns them in the order of the report's rows.
func allContestants() []*contestant {
	return []*contestant{
		{Name: ours, Masters: quorumMasters, open: openRedlock,
			Setup: "Open(urls), TTL and restart window alike; keepalive on, as it is by default; one connection per master"},
		{Name: oursSingle, Masters: 1, open: openRedlock, Setup: "the same over one master"},
		{Name: peer, Masters: quorumMasters, open: openRedsync(false),
			Setup: "v4, goredis pools over go-redis v9 with its defaults but PoolSize as below; WithTries(1), so that no retry sleeps"},
		{Name: peerFailFast, Masters: quorumMasters, open: openRedsync(true), Setup: "the same with WithFailFast(true)"},
		{Name: singleMaster, Masters: 1, open: openRedislock,
			Setup: "bsm/redislock over go-redis v9 with its defaults but PoolSize as below; no retry"},
	}
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
