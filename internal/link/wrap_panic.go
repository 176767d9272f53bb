package link

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/redis/go-redis/v9"
)

// go-redis trusts the types and the lengths of replies, so a reply of a wrong shape makes it panic. It removes the
// connection from its pool, and panics again in the goroutine that called it, or over a Cluster in one of its own.
// Here a panic becomes an error: the calls of the batch may have been executed.

// panicError reports that a wrapped client panicked.
type panicError struct{ text string }

func (e *panicError) Error() string { return "the client of the master panicked: " + e.text }

// recovered, when deferred, replaces err by a *panicError if the function panics.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &panicError{fmt.Sprintf("%.200s", fmt.Sprint(p))}
	}
}

// execPipeline executes commands in one batch. After a panic, every command has an error or an error reply.
func execPipeline(pipe redis.Pipeliner, cmds []redis.Cmder) error {
	_ = pipe.BatchProcess(context.Background(), cmds...) // only collects them
	return guarded(cmds, func() error {
		_, err := pipe.Exec(context.Background())
		return err
	})
}

// guarded calls f, which executes commands. It returns the error of f, or a *panicError that it sets on the commands.
func guarded(cmds []redis.Cmder, f func() error) error {
	panicked := true
	err := func() (err error) {
		defer recovered(&err)
		err = f()
		panicked = false
		return err
	}()
	if !panicked {
		return err
	}
	for _, cmd := range cmds {
		if cmd.Err() == nil {
			cmd.SetErr(err)
		}
	}
	return err
}

// panicHook recovers the panics of the goroutines in which a Cluster's client executes the part of a batch for one
// server.
type panicHook struct{}

func (panicHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (panicHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

func (panicHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return guarded(cmds, func() error { return next(ctx, cmds) })
	}
}

// panicHooks adds a panicHook to the client of each server of a Cluster, once. It keeps no client: a Cluster replaces
// them.
type panicHooks struct{ added sync.Map }

func (h *panicHooks) add(c *redis.Client) {
	key := weak.Make(c)
	if _, known := h.added.LoadOrStore(key, true); !known {
		c.AddHook(panicHook{})
		runtime.AddCleanup(c, func(key weak.Pointer[redis.Client]) { h.added.Delete(key) }, key)
	}
}

// forEachMaster calls f for each master of a Cluster, in a goroutine of the client, and returns an error of one.
func (w *wrappedClient) forEachMaster(ctx context.Context, f func(context.Context, *redis.Client) error) (err error) {
	defer recovered(&err)
	return w.cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) (err error) {
		defer recovered(&err)
		w.hooks.add(c)
		return f(ctx, c)
	})
}
