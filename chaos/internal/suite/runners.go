package suite

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"sync"

	"github.com/redlock-go/redlock/chaos/internal/backend"
	"github.com/redlock-go/redlock/chaos/internal/clients"
)

// runners start the clients. On Linux, clients of masters in containers run in containers; all others run as processes.
// (Where Docker has a machine of its own, containers would share neither the addresses nor the clock of this one.) The
// image of the containers is built on first use.
type runners struct {
	mu    sync.Mutex
	boxes *clients.Containers
}

// on returns the runner for clients of masters on that backend.
func (r *runners) on(ctx context.Context, name string) (clients.Runner, error) {
	if name != backend.Containers || runtime.GOOS != "linux" {
		return processes()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.boxes == nil {
		boxes, err := clients.OpenContainers(ctx, ClientCommand)
		if err != nil {
			return nil, err
		}
		r.boxes = boxes
	}
	return r.boxes, nil
}

// close removes the image. No client may be running.
func (r *runners) close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.boxes == nil {
		return nil
	}
	return r.boxes.Close()
}

// processes returns a runner that starts clients as processes of this program.
func processes() (clients.Processes, error) {
	self, err := os.Executable()
	return clients.Processes{Command: func() *exec.Cmd { return exec.Command(self, ClientCommand) }}, err
}
