package backend

import (
	"context"

	"github.com/redlock-go/redlock/internal/redisbox"
)

type containers []*redisbox.Master

func openContainers(ctx context.Context, n int) (Backend, error) {
	masters, err := redisbox.Start(ctx, n)
	if err != nil {
		return nil, err
	}
	return containers(masters), nil
}

func (c containers) URLs() []string { return redisbox.URLs(c) }

func (c containers) Kill(ctx context.Context, m int) error    { return c[m].Kill(ctx) }
func (c containers) Start(ctx context.Context, m int) error   { return c[m].Start(ctx) }
func (c containers) Pause(ctx context.Context, m int) error   { return c[m].Pause(ctx) }
func (c containers) Unpause(ctx context.Context, m int) error { return c[m].Unpause(ctx) }

func (c containers) Log(ctx context.Context, m int) (string, error) { return c[m].Logs(ctx) }

func (c containers) Close() error { return redisbox.CloseAll(c) }
