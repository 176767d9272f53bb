package link

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// go-redis checks a plain socket before it uses a connection of its pool again. It cannot check TLS or a tunnel, so it
// may use a connection that the server has closed. After a wrapped client was idle, the node sends a PING first. If
// that fails, go-redis drops the connection, and no call is lost.

// State reports a client that was idle as unverified.
func (w *wrapped) State() State {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.identity.NotMaster() != nil && now.Sub(w.opened) >= replicaFor {
		return Ended
	}
	if now.Sub(w.used) < idleAfter {
		return Usable
	}
	return Unverified
}

func (w *wrapped) noteUse() {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = now
}

// Verify uses one connection after the other until one has answered a PING.
func (w *wrapped) Verify() error {
	var r Reply
	if w.cluster != nil {
		r.Value, r.Err = "PONG", w.forEachMaster(context.Background(), verifyShard)
		r.Result = resultOf(r.Err)
	} else {
		// The PING is sent like a batch, so that exec also identifies the server.
		r = untilAlive(idlePipelines(w.single), func() Reply {
			ping := redis.NewCmd(context.Background(), "ping")
			return classify(ping, w.exec([]redis.Cmder{ping}))
		})
	}
	w.replies = append(w.replies[:0], r)
	w.noteUse()
	return nil
}

// verifyShard verifies the idle connections of the client of one server of a Cluster.
func verifyShard(ctx context.Context, c *redis.Client) error {
	idle := idlePipelines(c)
	if idle == 0 {
		return nil
	}
	return untilAlive(idle, func() Reply {
		ping := redis.NewCmd(ctx, "ping")
		return classify(ping, execPipeline(c.Pipeline(), []redis.Cmder{ping}))
	}).Err
}

// idlePipelines returns how many idle connections a client has in its pool for pipelines, the only one that the node
// uses.
func idlePipelines(c *redis.Client) int {
	stats := c.PoolStats()
	if stats.PipelineStats != nil {
		return int(stats.PipelineStats.IdleConns)
	}
	return int(stats.IdleConns)
}

// untilAlive repeats a PING over a pool with idle connections until one works, or fails for another reason than a
// connection that has ended, which go-redis drops from the pool. One working connection is enough. A pool that is a
// stack (LIFO) uses it for the next batch. A pool that is a queue (FIFO) tries the connection first that was idle
// longest; if it works, so do the others.
func untilAlive(idle int, ping func() Reply) (r Reply) {
	for range idle + 1 {
		if r = ping(); r.Result != InDoubt || timedOut(r.Err) || errors.Is(r.Err, redis.ErrClosed) {
			break
		}
	}
	return r
}

// resultOf returns what became of a command with that error.
func resultOf(err error) Result {
	var answer redis.Error
	switch {
	case err == nil, errors.As(err, &answer):
		return Answered
	case neverSent(err):
		return NotSent
	default:
		return InDoubt
	}
}
