package backend

import (
	"context"

	"github.com/redlock-go/redlock/internal/redisproc"
)

type processes []*redisproc.Server

func openProcesses(ctx context.Context, n int) (Backend, error) {
	servers, err := redisproc.StartN(ctx, n)
	if err != nil {
		return nil, err
	}
	return processes(servers), nil
}

func (p processes) URLs() []string {
	urls := make([]string, len(p))
	for i, s := range p {
		urls[i] = s.URL()
	}
	return urls
}

func (p processes) Kill(_ context.Context, m int) error    { return p[m].Kill() }
func (p processes) Start(ctx context.Context, m int) error { return p[m].Restart(ctx) }
func (p processes) Pause(_ context.Context, m int) error   { return p[m].Freeze() }
func (p processes) Unpause(_ context.Context, m int) error { return p[m].Thaw() }

func (p processes) Log(_ context.Context, m int) (string, error) { return p[m].Log(), nil }

func (p processes) Close() error { return redisproc.CloseAll(p) }
