package backend

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/internal/redisbox"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// onContainers has the host start masters in containers.
func onContainers(ctx context.Context, h *host) error {
	image, err := redisimage.Name(ctx, io.Discard)
	if err != nil {
		return err
	}
	h.start, h.noClocks, h.noPackets = h.container, redisimage.HasClock(ctx, image), redisbox.CanBlackHole()
	return os.Chmod(h.dir, 0o755)
}

func (h *host) container(ctx context.Context, args []string) (server, *wallclock.Clock, error) {
	clock, err := h.clock()
	if err != nil {
		return nil, nil, err
	}
	o := redisbox.Options{Args: args}
	if clock != nil {
		const file = "/wallclock"
		o.Binds = []string{clock.File() + ":" + file + ":ro"}
		o.Env = map[string]string{"LD_PRELOAD": redisimage.ClockLibrary, wallclock.EnvFile: file}
	}
	masters, err := redisbox.Start(ctx, 1, o)
	if err != nil {
		return nil, nil, err
	}
	return box{masters[0]}, clock, nil
}

// box is a master in a container. A method that ends a fault also works if the fault did not begin.
type box struct{ *redisbox.Master }

func (b box) thaw(ctx context.Context) error          { return b.Restore(ctx) }
func (b box) log(ctx context.Context) (string, error) { return b.Logs(ctx) }

func (b box) peer() (host, port string, err error) {
	addr := b.ContainerAddr()
	if addr == "" {
		return "", "", fmt.Errorf("master %s is on no network", b)
	}
	return net.SplitHostPort(addr)
}

func (b box) editAOF(ctx context.Context, edit func(name string, content []byte) []byte) error {
	return b.EditFiles(ctx, "/data/"+aof.Dir, edit)
}

func (b box) packets(ctx context.Context, c faults.Condition) error {
	switch c {
	case faults.Fine:
		return b.Restore(ctx)
	case faults.Cut:
		return b.Disconnect(ctx)
	case faults.Silent:
		return b.BlackHole(ctx)
	case faults.NoCommands:
		return b.Deafen(ctx)
	case faults.NoAnswers:
		return b.Silence(ctx)
	default:
		return fmt.Errorf("the network of a container cannot be made %s", c)
	}
}
