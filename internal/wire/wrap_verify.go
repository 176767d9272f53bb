package wire

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// go-redis checks a plain socket before it uses a connection of its pool again. It cannot check TLS or a tunnel, so it
// may use a connection that the server has closed. After a wrapped client was idle, the node sends a PING first. If
// that fails, go-redis drops the connection, and no call is lost.

// state reports a client that was idle as unverified.
func (w *wrapped) state() linkState {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.identity.notMaster() != nil && now.Sub(w.opened) >= replicaFor {
		return linkEnded
	}
	if now.Sub(w.used) < idleAfter {
		return linkUsable
	}
	return linkUnverified
}

func (w *wrapped) noteUse() {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = now
}

// verify uses one connection after the other until one has answered a PING.
func (w *wrapped) verify() error {
	var r reply
	if w.cluster != nil {
		r.err = w.forEachMaster(context.Background(), verifyPools)
		r.result = resultOf(r.err)
	} else {
		// The PING is sent like a batch, so that exec also identifies the server.
		_, pipelines := poolsOf(w.single)
		r = pipelines.verify(func() reply {
			ping := redis.NewCmd(context.Background(), "ping")
			return classify(ping, w.exec([]redis.Cmder{ping}))
		})
	}
	w.replies = append(w.replies[:0], r)
	w.noteUse()
	return nil
}

// verifyIdle verifies the idle connections of the client before a PING of [wrapped.newLink] goes over one of them. That
// PING reports an error of a Cluster.
func (w *wrapped) verifyIdle(ctx context.Context) error {
	if w.cluster != nil {
		_ = w.forEachMaster(ctx, verifyPools)
		return nil
	}
	return verifyPools(ctx, w.single)
}

// verifyPools verifies the connection pools of a client that have idle connections.
func verifyPools(ctx context.Context, c *redis.Client) error {
	main, pipelines := poolsOf(c)
	if main.idle > 0 {
		r := main.verify(func() reply {
			err := pinged(ctx, c)
			return reply{result: resultOf(err), err: err}
		})
		if r.err != nil {
			return r.err
		}
	}
	if pipelines.shared || pipelines.idle == 0 {
		return nil
	}
	return pipelines.verify(func() reply {
		ping := redis.NewCmd(ctx, "ping")
		return classify(ping, execPipeline(c.Pipeline(), []redis.Cmder{ping}))
	}).err
}

func pinged(ctx context.Context, c *redis.Client) (err error) {
	defer recovered(&err)
	return c.Ping(ctx).Err()
}

// pool describes a connection pool that is to be verified.
type pool struct {
	idle, size int
	shared     bool // the pool for pipelines is the main one
}

// poolsOf returns the pool for single commands of a client and the pool for pipelines, which may be the same.
func poolsOf(c *redis.Client) (main, pipelines pool) {
	o, stats := c.Options(), c.PoolStats()
	main = pool{idle: int(stats.IdleConns), size: o.PoolSize}
	pipelines = main
	if stats.PipelineStats == nil {
		pipelines.shared = true
		return main, pipelines
	}
	pipelines.idle = int(stats.PipelineStats.IdleConns)
	if pipelines.size = o.PipelinePoolSize; pipelines.size == 0 {
		pipelines.size = redis.DefaultPipelinePoolSize
	}
	return main, pipelines
}

// verify repeats a PING until one works or fails for another reason than a connection that has ended, which go-redis
// drops from the pool. One working connection is enough. A pool that is a stack (LIFO) uses it for the next batch. A
// pool that is a queue (FIFO) tries the connection first that was idle longest; if it works, so do the others.
func (p pool) verify(ping func() reply) (r reply) {
	for range p.size + 1 {
		if r = ping(); r.result != inDoubt || timedOut(r.err) || errors.Is(r.err, redis.ErrClosed) {
			break
		}
	}
	return r
}

// resultOf returns what became of a command with that error.
func resultOf(err error) result {
	var answer redis.Error
	switch {
	case err == nil, errors.As(err, &answer):
		return answered
	case neverSent(err):
		return notSent
	default:
		return inDoubt
	}
}
