// Package peers has the contestants of the benchmark: redlock, other clients, and the kinds of locks.
package peers

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/bench/internal/load"
)

// The names of the contestants, in flags, tables and JSON.
const (
	Redlock           = "redlock"
	RedlockSingle     = "redlock-1"
	RedlockNine       = "redlock-9"
	RedlockNoHandOver = "redlock-nohandover"
	Redsync           = "redsync"
	RedsyncFailFast   = "redsync-failfast"
	Redislock         = "redislock"
	Rueidislock       = "rueidislock"
	Mutex             = "mutex" // the kind that the others are compared with
	FencedMutex       = "mutex+fencing"
	FreePermits       = "semaphore-64"
	FreePermitsFenced = "semaphore-64+fencing"
	FreeMutexes       = "mutex+fencing-distinct"
	FewPermits        = "semaphore-8-nohandover"
	QuorumMasters     = 5
)

// A Contestant is one way to lock. It is opened on the first Masters of the masters.
type Contestant struct {
	Name        string                                              `json:"name"`
	Masters     int                                                 `json:"masters"`
	Setup       string                                              `json:"setup"` // for the report
	Slots       int                                                 `json:"slots"` // how many hold a name at once
	Open        func(urls []string, o Options) (load.Locker, error) `json:"-"`
	load.Locker `json:"-"`
}

// Options are the same for every contestant.
type Options struct {
	TTL     time.Duration
	Pool    int // connections that a peer's client may open to each master
	NoGuard bool
	Waits   bool // Acquire waits for a lock that another holds
}

// all returns every contestant, in the order of the report's rows. No other Go library has a semaphore over a quorum
// of masters, so permits are compared with redlock's own mutexes.
func all() []*Contestant {
	const five = QuorumMasters
	c := func(name string, masters int, open func([]string, Options) (load.Locker, error), setup string) *Contestant {
		return &Contestant{Name: name, Masters: masters, Setup: setup, Slots: 1, Open: open}
	}
	permits := func(name string, slots int, opts ...redlock.Option) *Contestant {
		got := c(name, five, ours(permit(slots), opts...), fmt.Sprintf("Semaphore(name, %d)", slots))
		got.Slots = slots
		return got
	}
	noHandOver, fencing := redlock.WithoutHandOver(), redlock.WithFencing()
	return []*Contestant{
		c(
			Redlock, five, ours(mutex),
			"Open(urls), TTL and restart window alike; keepalive on, as it is by default; one connection per master",
		),
		c(RedlockNoHandOver, five, ours(mutex, noHandOver), "the same WithoutHandOver"),
		c(RedlockSingle, 1, ours(mutex), "the same over one master"),
		c(RedlockNine, 9, ours(mutex), "the same over nine masters"),
		c(
			Redsync, five, openRedsync(false),
			"goredis pools over go-redis with its defaults but PoolSize; without contention WithTries(1), so that no retry "+
				"sleeps; with contention 32 tries 50 to 250 ms apart as by default, and on",
		),
		c(RedsyncFailFast, five, openRedsync(true), "the same with WithFailFast(true)"),
		c(Redislock, 1, openRedislock, "bsm/redislock over go-redis with its defaults but PoolSize; no retry"),
		c(
			Rueidislock, 1, openRueidis,
			"KeyMajority 1 and NoLoopTracking, as its README says for one master of Redis 7; TryNextAfter a twentieth of "+
				"the TTL, since its default of 20 ms fails under load",
		),
		c(Mutex, five, ours(mutex), "Lock"),
		c(FencedMutex, five, ours(mutex, fencing), "Lock, WithFencing"),
		c("reader", five, ours(reader), "RW.RLock"),
		c("writer", five, ours(writer), "RW.Lock"),
		c("reentrant", five, ours(outer), "Reentrant.Lock, of an owner who holds nothing yet"),
		c("reentrant inner", five, ours(inner), "Reentrant.Lock, of an owner who holds the name already"),
		c("three names", five, ours(three), "LockAll of three names"),
		permits(FreePermits, 64),
		permits(FreePermitsFenced, 64, fencing),
		c(FreeMutexes, five, ours(mutex, fencing), "Lock, WithFencing, a name for each caller"),
		permits(FewPermits, 8, noHandOver),
	}
}

// The contestants of the parts.
var (
	Latency   = []string{Redlock, RedlockSingle, RedlockNine, Redsync, RedsyncFailFast, Redislock, Rueidislock}
	Kinds     = []string{Mutex, FencedMutex, "reader", "writer", "reentrant", "reentrant inner", "three names"}
	Contended = []string{Redlock, RedlockNoHandOver, Redsync, Rueidislock}
	FreeSlots = []string{FreePermits, FreePermitsFenced, FreeMutexes}
	FullSlots = []string{FewPermits, RedlockNoHandOver}
	Far       = []string{Redlock, Redsync, RedsyncFailFast}
	Faulty    = []string{Redlock, Redsync}
)

// Named returns the contestants with these names that are also in a comma-separated list; an empty list has all.
func Named(names []string, list string) []*Contestant {
	only := strings.Split(list, ",")
	return slices.DeleteFunc(all(), func(c *Contestant) bool {
		wanted := list == "" || slices.Contains(only, c.Name) || slices.Contains(only, Label(c.Name))
		return !slices.Contains(names, c.Name) || !wanted
	})
}

// Check fails if no contestant has a name of the list.
func Check(list string) error {
	var known []string
	for _, c := range all() {
		known = append(known, c.Name)
	}
	for name := range strings.SplitSeq(list, ",") {
		if name != "" && !slices.Contains(known, name) && name != Label(Redislock) {
			return fmt.Errorf("no contestant is called %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return nil
}

// Label returns the name of a contestant as a reader sees it. It distinguishes redlock from bsm/redislock.
func Label(name string) string {
	if name == Redislock {
		return "bsm/redislock"
	}
	return name
}

// Ours reports whether the contestant is redlock, or one of its kinds of locks.
func Ours(name string) bool {
	return !strings.HasPrefix(name, Redsync) && name != Redislock && name != Rueidislock
}

// libraries are the modules of the peers.
var libraries = []string{
	"github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/redis/go-redis/v9",
	"github.com/redis/rueidis",
}

// Versions returns the versions of the peers' libraries in this program.
func Versions() (all []string) {
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, d := range build.Deps {
			if slices.Contains(libraries, d.Path) {
				all = append(all, strings.TrimPrefix(d.Path, "github.com/")+" "+d.Version)
			}
		}
	}
	return all
}
