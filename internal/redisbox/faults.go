package redisbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	cerrdefs "github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/redlock-go/redlock/clock"
)

// Kill ends the server with SIGKILL. Connections are reset, and new ones refused, until [Master.Start].
func (m *Master) Kill(ctx context.Context) error {
	defer m.docker.Close()
	_, err := m.docker.ContainerKill(ctx, m.id, client.ContainerKillOptions{Signal: "SIGKILL"})
	return m.fault("kill", err)
}

// Start starts a killed server again, and returns when it answers. Its data is gone unless it persists them.
func (m *Master) Start(ctx context.Context) error {
	defer m.docker.Close()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		_, err := m.docker.ContainerStart(ctx, m.id, client.ContainerStartOptions{})
		if err == nil {
			break
		}
		if !portTaken(err) || clock.Sleep(ctx, clock.System, 100*time.Millisecond) != nil {
			return m.fault("start", err)
		}
	}
	m.blackHoled.Store(false) // the rules went with the network namespace
	return m.fault("start", errors.Join(m.ready(ctx), m.locate(ctx)))
}

// Freeze freezes the server: its connections stay open and silent, and what is sent to it waits in its socket buffers
// until [Master.Restore].
func (m *Master) Freeze(ctx context.Context) error {
	defer m.docker.Close()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		_, err := m.docker.ContainerPause(ctx, m.id, client.ContainerPauseOptions{})
		// A server that is waiting for its disk cannot be frozen, but it can a moment later.
		if err == nil || !strings.Contains(err.Error(), "unable to freeze") ||
			clock.Sleep(ctx, clock.System, 20*time.Millisecond) != nil {
			return m.fault("pause", err)
		}
	}
}

// Disconnect removes the server from its network: connections break, and new ones to the published port are refused.
// The server keeps running, with its data.
func (m *Master) Disconnect(ctx context.Context) error {
	defer m.docker.Close()
	_, err := m.docker.NetworkDisconnect(ctx, m.network, client.NetworkDisconnectOptions{Container: m.id, Force: true})
	if err != nil {
		return m.fault("disconnect", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.address = ""
	return nil
}

// BlackHole drops every packet from and to the server, in its own network namespace. Peers see neither a reset nor a
// refusal. See [CanBlackHole] for what it needs.
func (m *Master) BlackHole(ctx context.Context) error {
	return m.drop(ctx, "black-hole", packetsIn, packetsOut)
}

// Deafen drops every packet to the server, and lets those from it through: no command arrives.
func (m *Master) Deafen(ctx context.Context) error { return m.drop(ctx, "deafen", packetsIn) }

// Silence drops every packet from the server, and lets those to it through: on existing connections, commands arrive
// and take effect, but no answer comes.
func (m *Master) Silence(ctx context.Context) error { return m.drop(ctx, "silence", packetsOut) }

var (
	packetsIn  = []string{"-A", "INPUT", "-p", "tcp", "--dport", "6379", "!", "-i", "lo", "-j", "DROP"}
	packetsOut = []string{"-A", "OUTPUT", "-p", "tcp", "--sport", "6379", "!", "-o", "lo", "-j", "DROP"}
)

func (m *Master) drop(ctx context.Context, what string, rules ...[]string) error {
	if err := CanBlackHole(); err != nil {
		return m.fault(what, err)
	}
	m.blackHoled.Store(true)
	var errs []error
	for _, rule := range rules {
		errs = append(errs, m.iptables(ctx, rule...))
	}
	return m.fault(what, errors.Join(errs...))
}

// CanBlackHole returns nil if [Master.BlackHole] can work: on Linux, on the machine of the Docker daemon, with nsenter
// and iptables, as root or with sudo without a password. Otherwise the error says what is missing.
func CanBlackHole() error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("a black hole needs Linux network namespaces, and this is %s", runtime.GOOS)
	}
	for _, program := range []string{"nsenter", "iptables"} {
		if _, err := exec.LookPath(program); err != nil {
			return fmt.Errorf("a black hole needs %s: %w", program, err)
		}
	}
	if os.Geteuid() != 0 && exec.Command("sudo", "-n", "true").Run() != nil {
		return errors.New("a black hole needs root, or sudo without a password")
	}
	return nil
}

// iptables runs iptables in the container's network namespace.
func (m *Master) iptables(ctx context.Context, args ...string) error {
	state, err := m.inspect(ctx)
	if err != nil {
		return err
	}
	if state.State.Pid == 0 {
		return errors.New("the server is not running")
	}
	// Docker may run on another machine, virtual or not. Then the process with this id here is a different one.
	cgroup, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", state.State.Pid))
	if err != nil || !strings.Contains(string(cgroup), m.id) {
		return fmt.Errorf(
			"process %d of this machine is not the container's: a black hole needs a Docker daemon on this very machine",
			state.State.Pid,
		)
	}
	command := append([]string{"nsenter", "-t", strconv.Itoa(state.State.Pid), "-n", "iptables", "-w"}, args...)
	if os.Geteuid() != 0 {
		command = append([]string{"sudo", "-n"}, command...)
	}
	if out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Restore ends every fault of the master, and returns when it answers. After a black hole, open connections continue
// with what TCP retransmits.
func (m *Master) Restore(ctx context.Context) error {
	defer m.docker.Close()
	state, err := m.inspect(ctx)
	if err != nil {
		return m.fault("inspect", err)
	}
	if state.State.Paused {
		_, err = m.docker.ContainerUnpause(ctx, m.id, client.ContainerUnpauseOptions{})
	}
	if err == nil && state.State.Running && m.blackHoled.Swap(false) {
		err = errors.Join(m.iptables(ctx, "-F", "INPUT"), m.iptables(ctx, "-F", "OUTPUT"))
	}
	if err == nil && len(state.NetworkSettings.Networks) == 0 {
		_, err = m.docker.NetworkConnect(ctx, m.network, client.NetworkConnectOptions{Container: m.id})
	}
	if err == nil && !state.State.Running {
		return m.Start(ctx)
	}
	if err == nil {
		err = errors.Join(m.ready(ctx), m.locate(ctx))
	}
	return m.fault("restore", err)
}

func (m *Master) fault(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s master %s: %w", what, m, err)
}

func gone(err error) bool { return cerrdefs.IsNotFound(err) || cerrdefs.IsConflict(err) }
