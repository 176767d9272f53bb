// Package backend is where the masters of a run come from: containers or plain processes, behind one narrow interface,
// so that a scenario does not know the difference.
package backend

import (
	"context"
	"fmt"
	"slices"
)

// Backend is a set of real masters that can be harmed. A master's URL stays the same for its whole life, crashes
// included. Operations on different masters may overlap.
type Backend interface {
	// URLs returns where the masters are, in their order.
	URLs() []string
	// Kill ends a master at once.
	Kill(ctx context.Context, master int) error
	// Start brings a killed master back, empty, and returns when it answers.
	Start(ctx context.Context, master int) error
	// Pause freezes a master: its connections stay open and silent.
	Pause(ctx context.Context, master int) error
	// Unpause lets it go on with what was sent meanwhile.
	Unpause(ctx context.Context, master int) error
	// Log returns what a master has logged.
	Log(ctx context.Context, master int) (string, error)
	// Close removes all masters, in whatever state they are.
	Close() error
}

// The backends.
const (
	// Containers are Redis servers in Docker containers.
	Containers = "containers"
	// Processes are redis-server processes on loopback ports.
	Processes = "processes"
)

var open = map[string]func(ctx context.Context, masters int) (Backend, error){
	Containers: openContainers,
	Processes:  openProcesses,
}

// Names returns what Open knows, sorted.
func Names() []string { return []string{Containers, Processes} }

// Check returns nil if there is a backend of that name.
func Check(name string) error {
	if !slices.Contains(Names(), name) {
		return fmt.Errorf("no backend is called %q: there are %q", name, Names())
	}
	return nil
}

// Open starts masters on the named backend. The caller closes it.
func Open(ctx context.Context, name string, masters int) (Backend, error) {
	if err := Check(name); err != nil {
		return nil, err
	}
	b, err := open[name](ctx, masters)
	if err != nil {
		return nil, fmt.Errorf("start %d masters as %s: %w", masters, name, err)
	}
	return b, nil
}
