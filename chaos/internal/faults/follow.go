package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	followTimeout = 10 * time.Second // until a replica has all that its master has
	followPoll    = 20 * time.Millisecond
)

// follow turns masters into replicas of others, one after another: of two that chose each other neither would have
// anything to copy.
type follow struct {
	control MasterControl
	mu      sync.Mutex
}

func replicate(m MasterControl) effect {
	f := &follow{control: m}
	return effect{nil, f.inject, func(ctx context.Context, master int) error {
		return send(ctx, m, master, "REPLICAOF NO ONE")
	}}
}

// inject returns when the master has the other's data in place of its own.
func (f *follow) inject(ctx context.Context, master int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	n := f.control.Masters()
	for i := 1; i < n; i++ {
		other := (master + i) % n
		if role, _ := f.role(ctx, other); role != "master" {
			continue
		}
		host, port, err := f.control.Peer(other)
		if err != nil {
			return err
		}
		if _, err := f.control.Do(ctx, master, "REPLICAOF", host, port); err != nil {
			return err
		}
		return f.await(ctx, master)
	}
	return errors.Join(ctx.Err(), errors.New("there is no other master that works, to be followed"))
}

func (f *follow) await(ctx context.Context, master int) error {
	tick := time.NewTicker(followPoll)
	defer tick.Stop()
	for {
		role, state := f.role(ctx, master)
		if role == "slave" && state == "connected" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it is not in step with its master: its link is %q: %w", state, ctx.Err())
		case <-tick.C:
		}
	}
}

// role returns what a master says it is, and of a replica the state of its link.
func (f *follow) role(ctx context.Context, master int) (role, state string) {
	reply, err := f.control.Do(ctx, master, "ROLE")
	words, ok := reply.([]any)
	if err != nil || !ok || len(words) == 0 {
		return "", ""
	}
	if len(words) > 3 {
		state = fmt.Sprint(words[3])
	}
	return fmt.Sprint(words[0]), state
}
