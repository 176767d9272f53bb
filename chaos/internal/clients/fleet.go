package clients

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// A Fleet is the harness's side of the client processes.
type Fleet struct {
	// Command makes the command that runs a client (see [RunClient]).
	Command func() *exec.Cmd
	// Config is the configuration of all clients. The fleet sets Client, Life and History.
	Config traffic.Config
	Size   int
	// Dir is the folder of the histories, Logs the folder of the clients' standard error.
	Dir, Logs string
	// Log writes the harness's events: a client that failed or could not start.
	Log func(history.Event)

	mu    sync.Mutex
	procs map[int]*proc
	lives map[int]int
}

// Names returns the names of all clients.
func (f *Fleet) Names() []string {
	names := make([]string, f.Size)
	for i := range names {
		names[i] = traffic.Name(i)
	}
	return names
}

// StartAll starts every client.
func (f *Fleet) StartAll(ctx context.Context) error {
	return repeat.AtOnce(f.Size, func(i int) error { return f.Start(ctx, i) })
}

// Start begins the next life of a client, and returns when its traffic runs. If it does not, the harness is broken:
// there was no lock yet that could be to blame.
func (f *Fleet) Start(ctx context.Context, client int) error {
	c := f.Config
	c.Client = traffic.Name(client)
	p, err := f.launch(client, &c)
	if err != nil {
		return fmt.Errorf("start client %s: %w", c.Client, err)
	}
	if err = p.call(ctx, readyTimeout, "Start", c); err != nil {
		f.log(p, history.Broken, err)
		return errors.Join(err, p.kill())
	}
	p.began.Store(true)
	return nil
}

// launch starts the process of the next life of a client, and completes its configuration.
func (f *Fleet) launch(client int, c *traffic.Config) (*proc, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.procs == nil {
		f.procs, f.lives = map[int]*proc{}, map[int]int{}
	}
	c.Life = f.lives[client]
	f.lives[client]++
	file := fmt.Sprintf("%s-%d", c.Client, c.Life)
	c.History = filepath.Join(f.Dir, file+".jsonl")
	stderr, err := os.Create(filepath.Join(f.Logs, file+".log"))
	if err != nil {
		return nil, err
	}
	defer stderr.Close() // the child has its own
	p := &proc{name: c.Client, life: c.Life, cmd: f.Command(), gone: make(chan struct{})}
	if err := p.start(stderr); err != nil {
		return nil, err
	}
	f.procs[client] = p
	go func() {
		defer close(p.gone)
		if p.err = p.cmd.Wait(); p.began.Load() && !p.ending.Load() {
			//nolint:errorlint // p.err may be nil
			err := fmt.Errorf("client %s.%d ended by itself: %v; see %s", p.name, p.life, p.err, stderr.Name())
			f.log(p, history.Failed, err)
		}
	}()
	return p, nil
}

// Kill ends a client at once.
func (f *Fleet) Kill(_ context.Context, client int) error { return f.do(client, (*proc).kill) }

// Freeze stops a client process at whatever point it is.
func (f *Fleet) Freeze(_ context.Context, client int) error {
	return f.do(client, func(p *proc) error { return freeze(p.cmd.Process) })
}

// Thaw continues a frozen client process, also one that has frozen itself at a crash point.
func (f *Fleet) Thaw(_ context.Context, client int) error {
	return f.do(client, func(p *proc) error { return thaw(p.cmd.Process) })
}

// CanFreeze returns nil, or why clients cannot be frozen here.
func (f *Fleet) CanFreeze() error { return canFreeze() }

// SetCrashPoint has a client kill or freeze itself when it next reaches the point. It does not wait until the client
// knows, which may then freeze at once. A client that kills itself is expected to end. One that froze itself continues
// with [Fleet.Thaw]. [NoCrashPoint] removes the crash point, and thaws a client that has frozen itself.
func (f *Fleet) SetCrashPoint(ctx context.Context, client int, point string) error {
	if point == traffic.NoCrashPoint {
		return f.do(client, func(p *proc) error { return p.clearCrashPoint(ctx) })
	}
	if point == traffic.FrozenHolding {
		if err := canFreeze(); err != nil {
			return err
		}
	}
	return f.do(client, func(p *proc) error {
		if point != traffic.FrozenHolding {
			p.ending.Store(true)
		}
		if err := p.running(); err != nil {
			return err
		}
		p.setting.Store(p.send("SetCrashPoint", point))
		return nil
	})
}

// RunClock makes the clock of a client's lock gain gain seconds per second from now on, and returns when it does. With
// 0 the clock runs at its first rate, and keeps what it has gained. The next life of a client starts with a new clock.
func (f *Fleet) RunClock(ctx context.Context, client int, gain float64) error {
	return f.do(client, func(p *proc) error {
		return p.call(ctx, tellTimeout, "Drift", gain)
	})
}

// Healthy returns nil if the client process runs.
func (f *Fleet) Healthy(client int) error { return f.do(client, (*proc).running) }

// Stop ends the traffic of all clients.
func (f *Fleet) Stop(ctx context.Context, timeout time.Duration) error {
	return f.all(ctx, timeout, "Stop", 0)
}

// Round has all clients acquire once what their groups acquire, and wait for each so long.
func (f *Fleet) Round(ctx context.Context, timeout, patience time.Duration) error {
	return f.all(ctx, timeout, "Round", patience)
}

// all calls all clients in parallel, and returns when all have replied. It returns an error if a client takes longer
// than the timeout. A client that takes longer than three times the timeout has failed.
func (f *Fleet) all(ctx context.Context, timeout time.Duration, method string, arg any) error {
	return repeat.AtOnce(f.Size, func(i int) error {
		return f.do(i, func(p *proc) error { return f.hung(p, p.call(ctx, timeout, method, arg)) })
	})
}

// hung writes a Failed event if the error says that a client hangs.
func (f *Fleet) hung(p *proc, err error) error {
	if errors.Is(err, errHung) {
		f.log(p, history.Failed, err)
	}
	return err
}

func (f *Fleet) log(p *proc, kind history.Kind, err error) {
	f.Log(history.Event{Kind: kind, Client: p.name, Life: p.life, Err: err.Error()})
}

// CloseLockers has all clients close their lockers. The processes run until [Fleet.End], so that a connection that a
// locker leaves open does not end with its process.
func (f *Fleet) CloseLockers(ctx context.Context) error {
	return f.started(func(p *proc) error {
		p.ending.Store(true)
		err := p.call(ctx, quitTimeout, "Quit", 0)
		if err != nil && p.running() != nil {
			return errors.Join(err, f.ended(p))
		}
		return f.hung(p, err)
	})
}

// End returns when the processes of clients that have closed their lockers have ended.
func (f *Fleet) End(ctx context.Context) error {
	return f.started(func(p *proc) error {
		_ = p.in.Close() // if the process has ended, it is closed already
		if err := p.within(ctx, quitTimeout, "end", p.wait); err != nil {
			return f.hung(p, err)
		}
		return f.ended(p)
	})
}

// ended writes a Failed event if the process of a client has not ended well.
func (f *Fleet) ended(p *proc) error {
	if p.err == nil {
		return nil
	}
	err := fmt.Errorf("client %s.%d did not end well: %w", p.name, p.life, p.err)
	f.log(p, history.Failed, err)
	return err
}

// Close kills the clients that still run.
func (f *Fleet) Close() error { return f.started((*proc).kill) }

// started has the present lives of all clients do something, except of clients that have none.
func (f *Fleet) started(do func(*proc) error) error {
	return repeat.AtOnce(f.Size, func(i int) error {
		if p := f.proc(i); p != nil {
			return do(p)
		}
		return nil
	})
}

// proc returns the present life of a client; nil if it has none.
func (f *Fleet) proc(client int) *proc {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.procs[client]
}

// do has the present life of a client do something. It returns an error if there is none.
func (f *Fleet) do(client int, what func(*proc) error) error {
	p := f.proc(client)
	if p == nil {
		return fmt.Errorf("client %s does not run", traffic.Name(client))
	}
	return what(p)
}
