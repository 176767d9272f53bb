package main

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// runners are where clients run: in containers if their masters do, on Linux, and otherwise as processes. (Where Docker has
// a machine of its own, containers would share neither the addresses nor the clock of this one.) The image of the
// containers is made when the first is asked for.
type runners struct {
	mu    sync.Mutex
	boxes *traffic.Containers
}

// on returns where the clients of masters on that backend run.
func (r *runners) on(ctx context.Context, name string) (traffic.Runner, error) {
	if name != backend.Containers || runtime.GOOS != "linux" {
		return processes()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.boxes == nil {
		boxes, err := traffic.OpenContainers(ctx, clientCommand)
		if err != nil {
			return nil, err
		}
		r.boxes = boxes
	}
	return r.boxes, nil
}

// close removes what was made for them. None runs any more.
func (r *runners) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.boxes == nil {
		return nil
	}
	return r.boxes.Close()
}

// processes runs clients as processes of this program.
func processes() (traffic.Processes, error) {
	self, err := os.Executable()
	return traffic.Processes{Command: func() *exec.Cmd { return exec.Command(self, clientCommand) }}, err
}
