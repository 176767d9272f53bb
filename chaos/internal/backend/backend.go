// Package backend starts the masters of a run as containers or as processes. A scenario runs on either.
package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/chaos/internal/aof"
	"github.com/redlock-go/redlock/chaos/internal/faults"
	"github.com/redlock-go/redlock/chaos/internal/proxy"
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

// Check returns an error if there is no backend of that name.
func Check(name string) error {
	if !slices.Contains(Names(), name) {
		return fmt.Errorf("no backend is called %q: there are %q", name, Names())
	}
	return nil
}

// A Backend is a set of real masters that it can harm. A master keeps its addresses when it crashes and starts again.
// Operations on different masters may overlap. Each master may have one fault at a time.
type Backend struct {
	loses     aof.Loss
	host      host
	masters   []*master
	inspector Inspector
	noClocks  error // why clocks cannot be moved
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
type host interface {
	// start starts one server with args. The clock is nil if it cannot be changed.
	start(ctx context.Context, args []string) (server, *wallclock.Clock, error)
	// clocks and packets return nil, or why it is impossible to change the clocks of servers or to drop their packets.
	clocks() error
	packets() error
	close() error
}

var hosts = map[string]func(ctx context.Context) (host, error){
	Containers: containerHost,
	Processes:  processHost,
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
	b := &Backend{loses: loses, masters: make([]*master, n)}
	if err := b.open(ctx, name, args); err != nil {
		return nil, errors.Join(fmt.Errorf("start %d masters as %s: %w", n, name, err), b.Close())
	}
	return b, nil
}

func (b *Backend) open(ctx context.Context, name string, args []string) error {
	h, err := hosts[name](ctx)
	if err != nil {
		return err
	}
	b.host, b.noClocks = h, h.clocks()
	var all errgroup.Group
	for i := range b.masters {
		all.Go(func() error {
			s, clock, err := h.start(ctx, args)
			if err != nil {
				return err
			}
			b.masters[i] = &master{server: s, clock: clock}
			b.masters[i].proxy, err = proxy.New(s.Addr())
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	if b.inspector, err = NewInspector(b.Direct(), ""); err != nil {
		return err
	}
	if b.noClocks == nil {
		b.noClocks = b.tryClocks(ctx)
	}
	return nil
}

// URLs returns the masters' URLs for clients, in order. They lead through proxies, see [Backend.Network].
func (b *Backend) URLs() []string {
	urls := make([]string, len(b.masters))
	for i, m := range b.masters {
		urls[i] = "redis://" + m.proxy.Addr()
	}
	return urls
}

// Direct returns the masters' URLs for the harness. They bypass the proxies.
func (b *Backend) Direct() []string {
	urls := make([]string, len(b.masters))
	for i, m := range b.masters {
		urls[i] = "redis://" + m.Addr()
	}
	return urls
}

// Prefix returns the beginning of all names that the run locks.
func (b *Backend) Prefix() string { return "storm:" }

// Notes returns remarks on the masters for the report: none.
func (b *Backend) Notes() []string { return nil }

// Log returns the log of a master.
func (b *Backend) Log(ctx context.Context, m int) (string, error) { return b.masters[m].log(ctx) }

// Close removes all masters, whatever their state.
func (b *Backend) Close() error {
	errs := make([]error, len(b.masters))
	var all errgroup.Group
	for i, m := range b.masters {
		if m == nil {
			continue
		}
		all.Go(func() error {
			if m.proxy != nil {
				errs[i] = m.proxy.Close()
			}
			errs[i] = errors.Join(errs[i], m.Close())
			return nil
		})
	}
	_ = all.Wait() // errs has the errors
	errs = append(errs, b.inspector.Close())
	if b.host != nil {
		errs = append(errs, b.host.close())
	}
	return errors.Join(errs...)
}
