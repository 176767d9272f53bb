// Package peers has the contestants of the benchmark: redlock, other clients, the kinds of locks, and a lower bound.
package peers

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/bench/internal/load"
)

// The names of the contestants, in flags, tables and JSON.
const (
	Redlock           = "redlock"
	RedlockSingle     = "redlock-1"
	RedlockNoHandOver = "redlock-nohandover"
	RedlockNine       = "redlock-9"
	Redsync           = "redsync"
	RedsyncFailFast   = "redsync-failfast"
	Redislock         = "redislock"
	Rueidislock       = "rueidislock"
	LowerBound        = "floor"
	QuorumMasters     = 5
)

// A Contestant is one way to lock. It is opened on the first Masters of the masters.
type Contestant struct {
	Name        string                                              `json:"name"`
	Masters     int                                                 `json:"masters"`
	Setup       string                                              `json:"setup"` // how it is configured, for the report
	Open        func(urls []string, o Options) (load.Pairer, error) `json:"-"`
	load.Pairer `json:"-"`
}

// Options are the same for every contestant.
type Options struct {
	TTL     time.Duration
	Pool    int // connections that a peer's client may open to each master
	NoGuard bool
	Waits   bool // Take waits for a lock that another holds
}

// All returns the contestants of the latency part, in the order of the report's rows.
func All() []*Contestant {
	all := []*Contestant{
		{
			Name: Redlock, Masters: QuorumMasters, Open: OpenRedlock,
			Setup: "Open(urls), TTL and restart window alike; keepalive on, as it is by default; one connection per master",
		},
	}
	for _, n := range []int{1, 3, 7, 9} {
		all = append(
			all,
			&Contestant{
				Name:    fmt.Sprintf("%s-%d", Redlock, n),
				Masters: n,
				Open:    OpenRedlock,
				Setup:   "the same over " + masterCount(n),
			},
		)
	}
	return append(
		all,
		&Contestant{
			Name:    Redsync,
			Masters: QuorumMasters,
			Open:    OpenRedsync(false),
			Setup: "v4, goredis pools over go-redis v9 with its defaults but PoolSize as below; WithTries(1), so that no " +
				"retry sleeps",
		},
		&Contestant{
			Name:    RedsyncFailFast,
			Masters: QuorumMasters,
			Open:    OpenRedsync(true),
			Setup:   "the same with WithFailFast(true)",
		},
		&Contestant{Name: Redsync + "-9", Masters: 9, Open: OpenRedsync(false), Setup: "redsync over nine masters"},
		&Contestant{
			Name: Redislock, Masters: 1, Open: openRedislock,
			Setup: "bsm/redislock over go-redis v9 with its defaults but PoolSize as below; no retry",
		},
		&Contestant{
			Name:    Rueidislock,
			Masters: 1,
			Open:    openRueidis,
			Setup: "rueidislock with KeyMajority 1 and NoLoopTracking, as its README says for one master of Redis 7; " +
				"TryNextAfter a twentieth of the TTL, since its default of 20 ms fails under load",
		},
		&Contestant{
			Name:    LowerBound,
			Masters: QuorumMasters,
			Open:    openLowerBound,
			Setup: "no client: as many prepared commands as there are callers, redlock's own two, written at once on one " +
				"connection per master; a batch is done when a majority has answered, and all replies are compared",
		},
	)
}

func masterCount(n int) string {
	if n == 1 {
		return "one master"
	}
	return fmt.Sprintf("%d masters", n)
}

// Pick returns the contestants that a comma-separated list names, in the report's order; all if the list is empty. It
// fails if no contestant has a name of the list.
func Pick(all []*Contestant, list string) ([]*Contestant, error) {
	if list == "" {
		return all, nil
	}
	names := strings.Split(list, ",")
	var picked []*Contestant
	for _, c := range all {
		if i := slices.IndexFunc(names, func(n string) bool { return n == c.Name || n == Label(c.Name) }); i >= 0 {
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

// Filter returns the contestants whose names are in the list; all if the list is empty. The list may have other names.
func Filter(all []*Contestant, list string) []*Contestant {
	if list == "" {
		return all
	}
	names := strings.Split(list, ",")
	return slices.DeleteFunc(slices.Clone(all), func(c *Contestant) bool {
		return !slices.Contains(names, c.Name) && !slices.Contains(names, Label(c.Name))
	})
}
