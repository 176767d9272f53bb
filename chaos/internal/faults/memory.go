package faults

import (
	"context"
	"errors"
	"strings"
)

// ofMemory are the faults of what a master has in its memory. They are brought about by commands.
func ofMemory(m MasterControl) []Fault {
	do := func(commands ...string) func(context.Context, int) error {
		return func(ctx context.Context, master int) error { return send(ctx, m, master, commands...) }
	}
	pressure := &pressure{control: m, streams: map[int]*stream{}}
	follow := &follow{control: m}
	return []Fault{
		made(FlushAll, nil, do("FLUSHALL"), nil),
		made(FlushScripts, nil, do("SCRIPT FLUSH"), nil),
		made(KillConnections, nil, do("CLIENT KILL TYPE normal", "CLIENT KILL TYPE pubsub"), nil),
		made(OutOfMemory, nil, do("CONFIG SET maxmemory-policy noeviction", "CONFIG SET maxmemory 1"), do(enough...)),
		made(EvictLocks, nil, pressure.inject, pressure.heal),
		made(FollowMaster, follow.available(), follow.inject, do("REPLICAOF NO ONE")),
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
