package suite

import (
	"os"
	"os/exec"

	"github.com/redlock-go/redlock/chaos/internal/clients"
)

// processes returns a runner that starts clients as processes of this program.
func processes() (clients.Processes, error) {
	self, err := os.Executable()
	return clients.Processes{Command: func() *exec.Cmd { return exec.Command(self, ClientCommand) }}, err
}
