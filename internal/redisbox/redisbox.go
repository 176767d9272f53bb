// Package redisbox runs real Redis masters in containers, for tests and for the chaos harness. Each master keeps its
// address when it crashes, and can be killed, frozen or cut off.
//
// It is a thin layer over testcontainers-go. It does not use the reaper of testcontainers, whose image comes from a
// registry that may be unreachable. Instead labels name the process to which a container belongs, and the first Start
// of a process removes the containers of dead processes.
package redisbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/freeport"
	"github.com/redlock-go/redlock/internal/redisbox/redisimage"
)

const (
	startTimeout = 90 * time.Second // for one master, from asking for the container to its first PONG
	portAttempts = 5
)

var redisPort = network.MustParsePort("6379/tcp")

// A Master is one Redis server in a container of its own. Its methods may be called from several goroutines, but faults
// on one Master exclude each other only if the caller ensures it.
type Master struct {
	docker  *client.Client
	id      string
	network string
	host    string
	port    *freeport.Port

	blackHoled atomic.Bool

	mu      sync.Mutex
	address string // in the container's network; "" while it is on none
}

// Options apply to every master that is started.
type Options struct {
	// Args are redis-server flags ("--appendonly", "yes") after those that every master gets: no persistence, no
	// protected mode. Of a flag given twice the last counts.
	Args []string
	// Env are environment variables.
	Env map[string]string
	// Binds mount files of this machine, each in the form FROM:TO:ro. Docker must run on this machine.
	Binds []string
}

// Start starts n masters in parallel and returns when all of them answer; the caller closes each. On failure everything
// that was started is removed.
func Start(ctx context.Context, n int, o Options) ([]*Master, error) {
	image, err := redisimage.Name(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	docker, err := redisimage.Docker(ctx)
	if err != nil {
		return nil, err
	}
	swept.Do(func() { sweep(ctx, docker) })

	o.Args = append([]string{"--save", "", "--appendonly", "no", "--protected-mode", "no"}, o.Args...)
	masters := make([]*Master, n)
	var all errgroup.Group
	for i := range masters {
		all.Go(func() (err error) {
			masters[i], err = start(ctx, docker, image, &o)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, errors.Join(err, CloseAll(masters))
	}
	return masters, nil
}

// start runs one container. It tries another port if another process has taken the chosen one.
func start(ctx context.Context, docker *client.Client, image string, o *Options) (*Master, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		m, err := run(ctx, docker, image, o)
		if err == nil {
			err = m.ready(ctx)
		}
		if err == nil {
			return m, nil
		}
		if m != nil {
			err = errors.Join(err, m.Close())
		}
		if attempt == portAttempts || !portTaken(err) {
			return nil, fmt.Errorf("start a master of %s: %w", image, err)
		}
	}
}

func run(ctx context.Context, docker *client.Client, image string, o *Options) (*Master, error) {
	port, err := freeport.Reserve()
	if err != nil {
		return nil, err
	}
	local := strings.HasPrefix(docker.DaemonHost(), "unix://") || strings.HasPrefix(docker.DaemonHost(), "npipe://")
	box, err := testcontainers.Run(ctx, image,
		testcontainers.WithCmd(o.Args...),
		testcontainers.WithEnv(o.Env),
		testcontainers.WithLabels(labels(owner)),
		testcontainers.WithHostConfigModifier(func(host *container.HostConfig) {
			binding := network.PortBinding{HostPort: strconv.Itoa(port.Number())}
			if local {
				binding.HostIP = netip.MustParseAddr("127.0.0.1")
			}
			host.PortBindings = network.PortMap{redisPort: {binding}}
			host.Binds = append(host.Binds, o.Binds...)
		}),
	)
	if box == nil {
		port.Release()
		return nil, err
	}
	m := &Master{docker: docker, id: box.GetContainerID(), port: port}
	if err != nil {
		return m, err
	}
	if m.host, err = box.Host(ctx); err != nil {
		return m, err
	}
	return m, m.locate(ctx)
}

// portTaken reports whether a container did not start because of its port.
func portTaken(err error) bool {
	return strings.Contains(err.Error(), "port is already allocated") ||
		strings.Contains(err.Error(), "address already in use")
}

// locate finds the container's own network and address.
func (m *Master) locate(ctx context.Context) error {
	state, err := m.inspect(ctx)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.address = ""
	for name, settings := range state.NetworkSettings.Networks {
		m.network = name
		if settings.IPAddress.IsValid() {
			m.address = netip.AddrPortFrom(settings.IPAddress, redisPort.Num()).String()
		}
	}
	return nil
}

func (m *Master) inspect(ctx context.Context) (container.InspectResponse, error) {
	defer m.docker.Close()
	result, err := m.docker.ContainerInspect(ctx, m.id, client.ContainerInspectOptions{})
	return result.Container, err
}

// URL returns the redis:// URL of the master's published port. It stays the same for the Master's whole life.
func (m *Master) URL() string { return "redis://" + m.Addr() }

// Addr returns host:port of the published port. It stays the same for the Master's whole life. Every byte passes
// through Docker's proxy, which accepts connections also while the server behind it is frozen, or black-holed.
func (m *Master) Addr() string { return net.JoinHostPort(m.host, strconv.Itoa(m.port.Number())) }

// ContainerAddr returns the server's address in the container's own network, which a Linux host reaches without
// the proxy; "" while it is cut off. Start and Restore may change it.
func (m *Master) ContainerAddr() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.address
}

// String returns the published address.
func (m *Master) String() string { return m.Addr() }

// Close removes the container, whatever its state. Closing twice is no error.
func (m *Master) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	defer m.docker.Close()
	_, err := m.docker.ContainerRemove(ctx, m.id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil && !gone(err) {
		return fmt.Errorf("remove the container of %s: %w", m, err)
	}
	m.port.Release()
	return nil
}

// CloseAll closes masters in parallel. It ignores nil ones.
func CloseAll(masters []*Master) error {
	return each(masters, func(m *Master) error { return m.Close() })
}

// URLs returns the URLs of masters, in their order.
func URLs(masters []*Master) []string {
	urls := make([]string, len(masters))
	for i, m := range masters {
		urls[i] = m.URL()
	}
	return urls
}

// each calls f for all masters that are not nil in parallel, and joins the errors.
func each(masters []*Master, f func(*Master) error) error {
	errs := make([]error, len(masters))
	var all sync.WaitGroup
	for i, m := range masters {
		if m != nil {
			all.Go(func() { errs[i] = f(m) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}
