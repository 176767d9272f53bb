// Package redisproc runs plain redis-server processes on loopback ports for harnesses and tests: masters that keep
// nothing on disk and can be killed, frozen and restarted empty.
//
// Every server belongs to the process that started it: [Server.Close] ends it, and on Linux the kernel does when the
// parent dies without closing (a panic, SIGKILL). Elsewhere a parent that is killed leaves its servers behind.
package redisproc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/freeport"
)

// Binary is the program that is looked up in PATH.
const Binary = "redis-server"

// ErrNotInstalled says that no redis-server is installed.
var ErrNotInstalled = errors.New(
	"redisproc: redis-server is not in PATH: install it (Debian, Ubuntu: apt-get install redis-server; macOS: brew " +
		"install redis)",
)

const (
	startAttempts = 5           // a free port may be taken before the server binds it
	readyTimeout  = time.Minute // from the start of a process to its first reply
	readyPoll     = 5 * time.Millisecond
)

// A Server is one redis-server process on 127.0.0.1. Its methods may be called concurrently; its address outlives
// [Server.Kill] and [Server.Start].
type Server struct {
	port *freeport.Port
	tls  *freeport.Port // for TLS; nil: none
	dir  string
	args []string
	env  []string

	mu   sync.Mutex
	proc *process // nil while killed
}

// Start starts one server on a free port and returns when it replies, be it with LOADING or NOAUTH. args are appended
// to the command line and override what is set here: no persistence, a temporary directory, loopback only. The caller
// must Close it. It returns [ErrNotInstalled] where there is no redis-server.
func Start(ctx context.Context, args ...string) (*Server, error) {
	return StartWith(ctx, Options{Args: args})
}

// Options apply to every start of one server.
type Options struct {
	// Args are appended to the command line. With a --tls-cert-file the server listens on a second port,
	// [Server.TLSAddr], where it speaks TLS.
	Args []string
	// Env is added to the environment of this process ("NAME=value").
	Env []string
}

// StartWith is [Start] with more options.
func StartWith(ctx context.Context, o Options) (*Server, error) {
	if _, err := exec.LookPath(Binary); err != nil {
		return nil, ErrNotInstalled
	}
	dir, err := os.MkdirTemp("", "redisproc-")
	if err != nil {
		return nil, fmt.Errorf("redisproc: %w", err)
	}
	s := &Server{dir: dir, args: o.Args, env: o.Env}
	for attempt := 1; ; attempt++ {
		if s.port, err = freeport.Reserve(); err != nil {
			break
		}
		if slices.Contains(o.Args, "--tls-cert-file") {
			if s.tls, err = freeport.Reserve(); err != nil {
				s.release()
				break
			}
		}
		if s.proc, err = s.launch(ctx); err == nil {
			return s, nil
		}
		s.release()
		if attempt == startAttempts || ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(err, os.RemoveAll(dir))
}

// StartN starts n servers in parallel. On failure it leaves none running.
func StartN(ctx context.Context, n int, args ...string) ([]*Server, error) {
	servers := make([]*Server, n)
	var g errgroup.Group
	for i := range servers {
		g.Go(func() (err error) {
			servers[i], err = Start(ctx, args...)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, errors.Join(err, CloseAll(servers))
	}
	return servers, nil
}

// CloseAll closes the servers. It ignores nil ones.
func CloseAll(servers []*Server) error {
	var all []error
	for _, s := range servers {
		if s != nil {
			all = append(all, s.Close())
		}
	}
	return errors.Join(all...)
}

// Addr returns the server's host:port.
func (s *Server) Addr() string { return s.port.Addr() }

// TLSAddr returns the host:port at which a server with a certificate speaks TLS.
func (s *Server) TLSAddr() string { return s.tls.Addr() }

// URL returns the server's redis:// URL.
func (s *Server) URL() string { return "redis://" + s.Addr() }

// Dir returns the server's working directory, which holds what the server persists. Close removes it.
func (s *Server) Dir() string { return s.dir }

// PID returns the process id of the running server, or 0 while it is killed.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.pid
}

// Log returns the server's log.
func (s *Server) Log() string {
	text, err := os.ReadFile(s.logFile())
	if err != nil {
		return ""
	}
	return string(text)
}

// Kill ends the server with SIGKILL and returns when it is gone. Killing a killed server does nothing.
func (s *Server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

func (s *Server) kill() error {
	if s.proc == nil {
		return nil
	}
	err := s.proc.kill()
	s.proc = nil
	return err
}

// Start kills the server if it runs, and starts it again on the same port, with a new run_id and empty unless it
// persists its data. It returns when the new process replies, which may still load its data.
func (s *Server) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.kill(); err != nil {
		return err
	}
	var err error
	s.proc, err = s.launch(ctx)
	return err
}

// Freeze stops the process with SIGSTOP: its connections stay open and silent. Freezing a frozen server does nothing.
// It is not available on Windows.
func (s *Server) Freeze() error { return s.signal("freeze", freeze) }

// Thaw continues a frozen server with SIGCONT. The server then executes what waited in its socket buffers.
func (s *Server) Thaw() error { return s.signal("thaw", thaw) }

func (s *Server) signal(what string, send func(pid int) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return fmt.Errorf("redisproc: %s %s: it is not running", what, s.Addr())
	}
	if err := send(s.proc.pid); err != nil {
		return fmt.Errorf("redisproc: %s %s: %w", what, s.Addr(), err)
	}
	return nil
}

// Close ends the server and removes its directory. A second Close does nothing.
func (s *Server) Close() error {
	err := errors.Join(s.Kill(), os.RemoveAll(s.dir))
	s.release()
	return err
}

func (s *Server) release() {
	s.port.Release()
	s.tls.Release()
}

func (s *Server) logFile() string { return filepath.Join(s.dir, "redis.log") }

// launch starts the process and waits until it replies.
func (s *Server) launch(ctx context.Context) (*process, error) {
	args := append([]string{
		"--port", strconv.Itoa(s.port.Number()), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", s.dir, "--logfile", s.logFile(), "--daemonize", "no",
	}, s.args...)
	if s.tls != nil {
		args = append(args, "--tls-port", strconv.Itoa(s.tls.Number()))
	}
	logged := len(s.Log())
	proc, err := run(args, s.env)
	if err != nil {
		return nil, fmt.Errorf("redisproc: %w", err)
	}
	if err := s.await(ctx, proc, logged); err != nil {
		return nil, errors.Join(
			fmt.Errorf("redisproc: %s did not come up: %w; its log: %s", s.Addr(), err, tail(s.Log())),
			proc.kill(),
		)
	}
	return proc, nil
}

// await returns when the process has logged, after so many bytes, that it has bound its port, and replies there.
// Another process could have taken the port while it was free.
func (s *Server) await(ctx context.Context, proc *process, logged int) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	bound := func() bool {
		log := s.Log() // "" if it cannot be read
		return strings.Contains(log[min(logged, len(log)):], "Server initialized")
	}
	for !bound() || !replies(s.Addr()) {
		select {
		case <-proc.gone:
			return errors.New("the process ended")
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// replies reports whether a server sends anything in reply to a command.
func replies(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = io.WriteString(conn, "PING\r\n")
	n, _ := conn.Read(make([]byte, 1))
	return n == 1
}

// process is a running redis-server.
type process struct {
	pid  int
	cmd  *exec.Cmd
	gone chan struct{} // closed when it has been waited for
}

// run starts the process from a goroutine that keeps its thread until the process has ended. On Linux the parent-death
// signal is sent when the thread that started the child ends.
func run(args, env []string) (*process, error) {
	p := &process{cmd: exec.Command(Binary, args...), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.SysProcAttr = attributes()
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.gone)
		err := p.cmd.Start()
		if err == nil {
			p.pid = p.cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // killed, as a rule
		}
	}()
	return p, <-started
}

func (p *process) kill() error {
	killChildren(p.pid)
	err := p.cmd.Process.Kill()
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	if err == nil {
		<-p.gone
	}
	return err
}

// tail returns the end of a log, short enough for an error.
func tail(log string) string {
	const most = 400
	if len(log) > most {
		log = "…" + log[len(log)-most:]
	}
	return strconv.Quote(log)
}
