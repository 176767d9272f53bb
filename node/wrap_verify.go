package node

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// go-redis looks into a plain socket before it uses a connection of its pool again. It cannot look into TLS or a tunnel, and
// so it uses connections that the server has closed. After a wrapped client was idle, a PING goes first: a PING may fail on
// such a connection, which go-redis drops then, and no call does.

// state has a client that was idle verified.
func (w *wrapped) state() linkState {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if now.Sub(w.used) < busy {
		return usable
	}
	return unverified
}

func (w *wrapped) noteUse() {
	now := w.clock.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = now
}

// verify draws connections until one has answered a PING.
func (w *wrapped) verify() error {
	var r reply
	if w.cluster != nil {
		r.err = w.cluster.ForEachMaster(context.Background(), verifyPools)
		r.result = resultOf(r.err)
	} else {
		// The PING goes the way that batches go, so that it also learns who answers.
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

// verifyIdle verifies the idle connections of the client before a PING of [wrapped.fresh] goes over one of them. An error of
// a Cluster shows in that.
func (w *wrapped) verifyIdle(ctx context.Context) error {
	if w.cluster != nil {
		_ = w.cluster.ForEachMaster(ctx, verifyPools)
		return nil
	}
	return verifyPools(ctx, w.single)
}

// verifyPools verifies the connection pools of a client that have idle connections.
func verifyPools(ctx context.Context, c *redis.Client) error {
	main, pipelines := poolsOf(c)
	if main.idle > 0 {
		r := main.verify(func() reply {
			err := c.Ping(ctx).Err()
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

// pool is what one must know of a connection pool to verify it.
type pool struct {
	idle, size int
	shared     bool // of pipelines: it is the main one
}

// poolsOf returns the pool of a client's single commands and that of its pipelines, which may be the same.
func poolsOf(c *redis.Client) (main, pipelines pool) {
	o, stats := c.Options(), c.PoolStats()
	main = pool{idle: int(stats.IdleConns), size: o.PoolSize}
	pipelines = main
	if o.PipelinePoolSize < 0 || stats.PipelineStats == nil {
		pipelines.shared = true
		return main, pipelines
	}
	pipelines.idle = int(stats.PipelineStats.IdleConns)
	if pipelines.size = o.PipelinePoolSize; pipelines.size == 0 {
		pipelines.size = redis.DefaultPipelinePoolSize
	}
	return main, pipelines
}

// verify repeats a PING while it meets connections that have ended; go-redis drops them. A pool that is a stack gives the
// connection that answered to the next batch. One that is a queue gives out first what has been idle longest, so that the
// others are alive, too.
func (p pool) verify(ping func() reply) (r reply) {
	for range p.size + 1 {
		if r = ping(); r.result != inDoubt || timedOut(r.err) || errors.Is(r.err, redis.ErrClosed) {
			break
		}
	}
	return r
}

// resultOf tells what became of a command with that error.
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
