package faults

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redlock-go/redlock/clock"
)

const (
	followTimeout = 10 * time.Second // until a replica has all that its master has
	followPoll    = 20 * time.Millisecond
)

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
		if err := clock.Sleep(ctx, clock.System, followPoll); err != nil {
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
