package masters

import (
	"context"
	"errors"
	"fmt"

	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// procHost is a master that is a process.
type procHost struct{ *redisproc.Server }

func (h procHost) Freeze(context.Context) error { return h.Server.Freeze() }

func (h procHost) Thaw(context.Context) error { return h.Server.Thaw() }

func startProcesses(ctx context.Context, n int) ([]Host, error) {
	servers, err := redisproc.StartN(ctx, n)
	if err != nil {
		return nil, err
	}
	hosts := make([]Host, n)
	for i, s := range servers {
		hosts[i] = procHost{s}
	}
	return hosts, nil
}

// boxHost is a master in a container, by its address in the containers' network: Docker's proxy before a published port
// copies every byte, and doubles the time.
type boxHost struct {
	*redisbox.Master
	addr string
}

func (h boxHost) Addr() string { return h.addr }

func (h boxHost) URL() string { return "redis://" + h.addr }

func (h boxHost) Kill() error { return h.Master.Kill(context.Background()) }

func (h boxHost) Start(ctx context.Context) error {
	if err := h.Master.Start(ctx); err != nil {
		return err
	}
	if now := h.ContainerAddr(); now != h.addr {
		return fmt.Errorf("the container of %s came back at %s: run it again, or without -containers", h.addr, now)
	}
	return nil
}

func startContainers(ctx context.Context, n int) ([]Host, error) {
	boxes, err := redisbox.Start(ctx, n)
	if err != nil {
		return nil, err
	}
	hosts := make([]Host, n)
	for i, b := range boxes {
		hosts[i] = boxHost{b, b.ContainerAddr()}
		if b.ContainerAddr() == "" {
			return nil, errors.Join(
				errors.New("a container has no address of its own here; run without -containers"),
				redisbox.CloseAll(boxes),
			)
		}
	}
	return hosts, nil
}
