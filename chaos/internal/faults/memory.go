package faults

import (
	"context"
	"errors"
	"strings"
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
