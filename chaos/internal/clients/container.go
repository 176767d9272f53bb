package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/redisbox"
)

// dockerTimeout is how long Docker may take to do something to a container.
const dockerTimeout = 20 * time.Second

// Containers run clients in containers of their own, of an image of this very program. They share the network of this
// machine, so that a master has the same address for everybody, and its clock: CLOCK_MONOTONIC is the kernel's, and no
// time namespace is made, so that the times in their histories compare with all others. They share its process ids,
// too: the first process of a namespace of its own could neither kill nor freeze itself, as a client at its crash point
// does.
type Containers struct {
	image   string // of this run alone
	args    []string
	started atomic.Int64
}

// OpenContainers makes the image that clients run in, of the program that runs, with args that make a client of it. It
// needs the docker command and ldd. The caller closes it.
// What a killed process leaves on the machine, [redisbox] removes when it is used the next time.
func OpenContainers(ctx context.Context, args ...string) (*Containers, error) {
	c := &Containers{args: args}
	if err := c.CanFreeze(); err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c.image, err = Image(ctx, self)
	return c, err
}

func (c *Containers) String() string { return "each in a container of its own" }

// Close removes the image. All clients have ended.
func (c *Containers) Close() error {
	err := docker("rmi", "--force", c.image)
	if err != nil && strings.Contains(err.Error(), "No such image") {
		return nil
	}
	return err
}

// Start starts a container, which is removed when it ends. It ends with its standard input, as this process does.
func (c *Containers) Start(name, dir string, log *os.File) (Running, error) {
	called := fmt.Sprintf("%s-%d-%s", strings.ReplaceAll(c.image, ":", "-"), c.started.Add(1), name)
	args := []string{
		"run", "-i", "--rm", "--name", called, "--network", "host", "--pid", "host", "--log-driver", "none",
		"--user", fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "-v", dir + ":" + dir,
	}
	for key, value := range redisbox.Labels() {
		args = append(args, "--label", key+"="+value)
	}
	p, err := startProcess(exec.Command("docker", append(append(args, c.image), c.args...)...), log)
	if err != nil {
		return nil, err
	}
	return &container{process: p, name: called}, nil
}

// CanFreeze returns nil, or why containers cannot be stopped here.
func (c *Containers) CanFreeze() error {
	if runtime.GOOS != "linux" {
		return errors.New(
			"containers of clients share the network and the clock of a Linux machine, and this is " + runtime.GOOS,
		)
	}
	_, err := exec.LookPath("docker")
	return err
}

// container is a client in a container. Its process here is the docker command that is attached to it.
type container struct {
	*process
	name string
}

func (c *container) Kill() error {
	err := docker("kill", c.name)
	if gone(err) {
		// Either it has ended, and the waiting command will end too, or it has not been started yet.
		err = c.process.Kill()
		_ = docker("rm", "--force", c.name) // nothing to remove, as a rule
	}
	return err
}

// Freeze stops the process. A docker pause does, too, but not on a machine so busy that the cgroup takes too long to
// freeze.
func (c *container) Freeze() error { return docker("kill", "--signal", "STOP", c.name) }

func (c *container) Thaw() error { return docker("kill", "--signal", "CONT", c.name) }

// gone reports whether the error of a docker command says that the container does not run.
func gone(err error) bool {
	return err != nil &&
		(strings.Contains(err.Error(), "No such container") || strings.Contains(err.Error(), "is not running"))
}

func docker(args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), dockerTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, "docker", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("docker %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
