// Package backend starts the masters of a run as containers or as processes. A scenario runs on either.
package backend

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/proxy"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/internal/wallclock"
)

// The backends.
const (
	// Containers are Redis servers in Docker containers.
	Containers = "containers"
	// Processes are redis-server processes on loopback ports.
	Processes = "processes"
)

// Names returns the names of the backends, sorted.
func Names() []string { return []string{Containers, Processes} }

// A Backend has the masters of a run. If they are [Backend.Ours], it can harm them. A master keeps its addresses when
// it crashes and starts again. Operations on different masters may overlap. Each master may have one fault at a time.
type Backend struct {
	// URLs are the masters' URLs for clients, in order. They lead through proxies if the masters are ours, see
	// [Backend.Network].
	URLs []string
	// Prefix is the beginning of all names that the run locks.
	Prefix string
	// Notes are remarks on the masters for the report.
	Notes []string

	direct []string // the masters' URLs for the harness, which bypass the proxies
	mark   string   // of all that is the run's, if others use the masters at the same time

	// Of masters that are ours.
	loses     aof.Loss
	host      *host
	masters   []*master
	inspector Inspector
}

// A server is the backend's side of one master.
type server interface {
	Addr() string
	Kill(ctx context.Context) error
	Start(ctx context.Context) error
	Freeze(ctx context.Context) error
	Close() error
	thaw(ctx context.Context) error
	peer() (host, port string, err error)
	editAOF(ctx context.Context, edit func(name string, content []byte) []byte) error
	packets(ctx context.Context, c faults.Condition) error
	log(ctx context.Context) (string, error)
}

// A host starts servers.
type host struct {
	dir string // for the clocks
	// start starts one server with args. The clock is nil if it cannot be changed.
	start func(ctx context.Context, args []string) (server, *wallclock.Clock, error)
	// noClocks and noPackets say why it is impossible to change the clocks of servers or to drop their packets.
	noClocks, noPackets error
}

// clock makes the clock of a server. It returns nil if servers cannot have clocks of their own.
func (h *host) clock() (*wallclock.Clock, error) {
	if h.noClocks != nil {
		return nil, nil
	}
	dir, err := os.MkdirTemp(h.dir, "")
	if err != nil {
		return nil, err
	}
	return wallclock.New(dir)
}

// hosts prepare the host of a backend.
var hosts = map[string]func(ctx context.Context, h *host) error{
	Containers: onContainers,
	Processes:  onProcesses,
}

type master struct {
	server
	proxy *proxy.Proxy
	clock *wallclock.Clock // nil: the master uses the machine's clock
}

// Open starts n masters on the named backend, which keep so much on disk that a crash loses what loses says. The caller
// must close the backend.
func Open(ctx context.Context, name string, n int, loses aof.Loss) (*Backend, error) {
	args := []string{"--repl-diskless-sync-delay", "0"} // so that a replica synchronizes at once
	if loses != aof.Everything {
		args = append(args, aof.Args(loses.Fsync())...)
	}
	b := &Backend{
		URLs: make([]string, n), Prefix: "storm:", direct: make([]string, n), loses: loses, masters: make([]*master, n),
	}
	if err := b.open(ctx, name, args); err != nil {
		return nil, errors.Join(fmt.Errorf("start %d masters as %s: %w", n, name, err), b.Close())
	}
	return b, nil
}

func (b *Backend) open(ctx context.Context, name string, args []string) error {
	dir, err := os.MkdirTemp("", "chaos-clocks-")
	if err != nil {
		return err
	}
	b.host = &host{dir: dir}
	if err := hosts[name](ctx, b.host); err != nil {
		return err
	}
	err = repeat.AtOnce(len(b.masters), func(i int) error {
		s, clock, err := b.host.start(ctx, args)
		if err != nil {
			return err
		}
		b.masters[i] = &master{server: s, clock: clock}
		b.direct[i] = "redis://" + s.Addr()
		if b.masters[i].proxy, err = proxy.New(s.Addr()); err == nil {
			b.URLs[i] = "redis://" + b.masters[i].proxy.Addr()
		}
		return err
	})
	if err != nil {
		return err
	}
	if b.inspector, err = b.NewInspector(); err != nil {
		return err
	}
	if b.host.noClocks == nil {
		b.host.noClocks = b.tryClocks(ctx)
	}
	return nil
}

// Ours reports whether the harness has started the masters, and so may harm them.
func (b *Backend) Ours() bool { return b.host != nil }

// Log returns the log of a master.
func (b *Backend) Log(ctx context.Context, m int) (string, error) { return b.masters[m].log(ctx) }

// Close removes all masters, whatever their state.
func (b *Backend) Close() error {
	err := repeat.AtOnce(len(b.masters), func(i int) error {
		m := b.masters[i]
		switch {
		case m == nil:
			return nil
		case m.proxy == nil:
			return m.Close()
		default:
			return errors.Join(m.proxy.Close(), m.Close())
		}
	})
	err = errors.Join(err, b.inspector.Close())
	if b.host != nil {
		err = errors.Join(err, os.RemoveAll(b.host.dir))
	}
	return err
}
