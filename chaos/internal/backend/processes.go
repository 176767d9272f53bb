package backend

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/internal/redisproc"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// onProcesses has the host start masters as processes.
func onProcesses(ctx context.Context, h *host) error {
	h.start, h.noClocks, h.noPackets = h.process, wallclock.Build(ctx, h.preload()), errNoPackets
	return nil
}

// preload is the clock library.
func (h *host) preload() string { return filepath.Join(h.dir, "wallclock.so") }

var errNoPackets = errors.New("processes share the network of this machine: only containers have one of their own")

func (h *host) process(ctx context.Context, args []string) (server, *wallclock.Clock, error) {
	clock, err := h.clock()
	if err != nil {
		return nil, nil, err
	}
	o := redisproc.Options{Args: args}
	if clock != nil {
		o.Env = []string{"LD_PRELOAD=" + h.preload(), wallclock.EnvFile + "=" + clock.File()}
	}
	s, err := redisproc.StartWith(ctx, o)
	if err != nil {
		return nil, nil, err
	}
	return proc{s}, clock, nil
}

// proc is a master that runs as a process.
type proc struct{ *redisproc.Server }

func (p proc) peer() (host, port string, err error) { return net.SplitHostPort(p.Addr()) }
func (p proc) Kill(context.Context) error           { return p.Server.Kill() }
func (p proc) Freeze(context.Context) error         { return p.Server.Freeze() }
func (p proc) thaw(context.Context) error           { return p.Thaw() }
func (p proc) log(context.Context) (string, error)  { return p.Log(), nil }

func (p proc) packets(context.Context, faults.Condition) error { return errNoPackets }

func (p proc) editAOF(_ context.Context, edit func(name string, content []byte) []byte) error {
	dir := filepath.Join(p.Dir(), aof.Dir)
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, edit(f.Name(), content), 0o644); err != nil {
			return err
		}
	}
	return nil
}
