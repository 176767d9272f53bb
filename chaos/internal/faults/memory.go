package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

// The faults of what a master has in its memory. Commands bring them about.
const (
	FlushAll        = "flush-all"
	FlushScripts    = "flush-scripts"
	KillConnections = "kill-connections"
	OutOfMemory     = "out-of-memory"
	EvictLocks      = "evict-locks"
	FollowMaster    = "follow-master"
)

var ofMemory = []definition{
	onMasters(FlushAll, Traits{Instant: true, Forgets: true, Breaks: assumesMemory}, do(nil, "FLUSHALL"),
		"FLUSHALL"),
	onMasters(FlushScripts, Traits{Instant: true}, do(nil, "SCRIPT FLUSH"),
		"SCRIPT FLUSH: EVALSHA finds nothing"),
	onMasters(KillConnections, Traits{Instant: true}, do(nil, "CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub"),
		"CLIENT KILL of every connection, subscriptions too"),
	onMasters(OutOfMemory, Traits{Mute: true},
		do(enough, "CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1"),
		"out of memory with noeviction: writes are refused, deletions are not"),
	onMasters(EvictLocks, Traits{Instant: true, Forgets: true, Breaks: assumesMemory},
		do(nil, append([]string{"CONFIG SET maxmemory-policy allkeys-lru", "CONFIG SET maxmemory 1"}, enough...)...),
		"out of memory with allkeys-lru, for a moment: all locks are evicted"),
	onMasters(FollowMaster, Traits{Mute: true, Forgets: true, NeedsPeer: true, Breaks: assumesAlone}, replicate,
		"REPLICAOF another master, and later promoted: its own locks are gone, and it has the other's"),
}

// do injects a fault by some commands and heals it by others.
func do(heal []string, inject ...string) func(MasterControl) Effect {
	return func(m MasterControl) Effect {
		all := func(commands []string) func(context.Context, int) error {
			return func(ctx context.Context, master int) error { return send(ctx, m, master, commands...) }
		}
		return Effect{nil, all(inject), all(heal)}
	}
}

// enough is the settings that masters are started with.
var enough = []string{"CONFIG SET maxmemory 0", "CONFIG SET maxmemory-policy noeviction"}

// send sends commands one by one, all of them even if one fails.
func send(ctx context.Context, m MasterControl, master int, commands ...string) error {
	var errs []error
	for _, c := range commands {
		var args []any
		for _, word := range strings.Fields(c) {
			args = append(args, word)
		}
		_, err := m.Do(ctx, master, args...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

const followTimeout = 10 * time.Second // until a replica has all that its master has

// replicate turns masters into replicas of others, one after another: of two that chose each other neither would have
// anything to copy.
func replicate(m MasterControl) Effect {
	var one sync.Mutex
	return Effect{
		nil,
		func(ctx context.Context, master int) error {
			one.Lock()
			defer one.Unlock()
			return follow(ctx, m, master)
		},
		func(ctx context.Context, master int) error { return send(ctx, m, master, "REPLICAOF NO ONE") },
	}
}

// follow returns when the master has another one's data in place of its own.
func follow(ctx context.Context, m MasterControl, master int) error {
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	n := m.Masters()
	for i := 1; i < n; i++ {
		other := (master + i) % n
		if role, _ := role(ctx, m, other); role != "master" {
			continue
		}
		host, port, err := m.Peer(other)
		if err != nil {
			return err
		}
		if _, err := m.Do(ctx, master, "REPLICAOF", host, port); err != nil {
			return err
		}
		return inStep(ctx, m, master)
	}
	return errors.Join(ctx.Err(), errors.New("there is no other master that works, to be followed"))
}

func inStep(ctx context.Context, m MasterControl, master int) error {
	for {
		role, state := role(ctx, m, master)
		if role == "slave" && state == "connected" {
			return nil
		}
		if err := clock.Sleep(ctx, clock.System, healthPoll); err != nil {
			return fmt.Errorf("it is not in step with its master: its link is %q: %w", state, err)
		}
	}
}

// role returns what a master says it is, and of a replica the state of its link.
func role(ctx context.Context, m MasterControl, master int) (role, state string) {
	reply, err := m.Do(ctx, master, "ROLE")
	words, ok := reply.([]any)
	if err != nil || !ok || len(words) == 0 {
		return "", ""
	}
	if len(words) > 3 {
		state = fmt.Sprint(words[3])
	}
	return fmt.Sprint(words[0]), state
}
