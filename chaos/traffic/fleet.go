package traffic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/history"
)

// Fleet is the harness's side of the client processes.
type Fleet struct {
	// Command makes the command that runs a client (see [RunClient]).
	Command func() *exec.Cmd
	// Configure returns what a life of a client is started with; the fleet fills in Client, Life and History.
	Configure func(client int) Config
	// Size is how many clients there are.
	Size int
	// Dir is where histories go, and Logs what clients say on standard error.
	Dir, Logs string
	// Log takes what the harness has to write down: a client that ended by itself.
	Log func(history.Event)
	// Prefix tells this fleet's files from another's.
	Prefix string

	mu    sync.Mutex
	procs map[int]*proc
	lives map[int]int
	held  map[[2]int]int // by client and life
}

// Name returns what a client is called in the history.
func Name(client int) string { return fmt.Sprintf("c%d", client) }

// Names returns all of them.
func (f *Fleet) Names() []string {
	names := make([]string, f.Size)
	for i := range names {
		names[i] = Name(i)
	}
	return names
}

// StartAll starts every client.
func (f *Fleet) StartAll(ctx context.Context) error {
	return f.each(func(i int) error { return f.Start(ctx, i) })
}

// Start begins the next life of a client, and returns when its traffic runs. One that is configured to die by its own
// hand is not waited for: see [Fleet.WaitGone].
func (f *Fleet) Start(ctx context.Context, client int) error {
	c := f.Configure(client)
	p, err := f.launch(client, c)
	if err != nil {
		return fmt.Errorf("start client %s: %w", Name(client), err)
	}
	if c.HalfLock != "" {
		return nil
	}
	return p.await(ctx, Ready, readyTimeout)
}

func (f *Fleet) launch(client int, c Config) (*proc, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.procs == nil {
		f.procs, f.lives, f.held = map[int]*proc{}, map[int]int{}, map[[2]int]int{}
	}
	life := f.lives[client]
	f.lives[client]++

	c.Client, c.Life = Name(client), life
	file := fmt.Sprintf("%s%s-%d", f.Prefix, c.Client, life)
	c.History = filepath.Join(f.Dir, file+".jsonl")
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	stderr, err := os.Create(filepath.Join(f.Logs, file+".log"))
	if err != nil {
		return nil, err
	}
	defer stderr.Close() // the child has its own

	p := &proc{name: c.Client, life: life, cmd: f.Command(), answers: make(chan string, 16), gone: make(chan struct{})}
	p.ending = c.HalfLock != ""
	p.cmd.Stderr = stderr
	detach(p.cmd)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	f.procs[client] = p
	go func() {
		defer close(p.gone)
		p.listen(out, func(held int) { f.count(client, life, held) })
		if p.err = p.cmd.Wait(); !p.expected() {
			f.Log(history.Event{
				Kind: history.Broken, Client: p.name, Life: life,
				Err: fmt.Sprintf("client %s.%d ended by itself: %v; see %s", p.name, life, p.err, stderr.Name()),
			})
		}
	}()
	if _, err := p.in.Write(append(config, '\n')); err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return p, nil
}

func (f *Fleet) count(client, life, held int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held[[2]int{client, life}] = held
}

// Held returns how many locks were held by all lives of all clients.
func (f *Fleet) Held() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, h := range f.held {
		n += h
	}
	return n
}

// Kill ends a client at once.
func (f *Fleet) Kill(_ context.Context, client int) error {
	p := f.proc(client)
	if p == nil {
		return fmt.Errorf("client %s does not run", Name(client))
	}
	return p.kill()
}

// Freeze stops a client process, wherever it is.
func (f *Fleet) Freeze(_ context.Context, client int) error { return f.signal(client, freeze) }

// Thaw lets it go on.
func (f *Fleet) Thaw(_ context.Context, client int) error { return f.signal(client, thaw) }

// CanFreeze returns nil, or why processes cannot be frozen here.
func (f *Fleet) CanFreeze() error { return canFreeze() }

func (f *Fleet) signal(client int, send func(*os.Process) error) error {
	p := f.proc(client)
	if p == nil {
		return fmt.Errorf("client %s does not run", Name(client))
	}
	return send(p.cmd.Process)
}

// Healthy returns nil if the client process runs.
func (f *Fleet) Healthy(client int) error {
	p := f.proc(client)
	if p == nil {
		return fmt.Errorf("client %s does not run", Name(client))
	}
	return p.running()
}

// All has every client do something, side by side, and returns when all have done it.
func (f *Fleet) All(ctx context.Context, timeout time.Duration, cmd func(client int) Command) error {
	return f.each(func(i int) error {
		p := f.proc(i)
		if p == nil {
			return fmt.Errorf("client %s does not run", Name(i))
		}
		return p.do(ctx, cmd(i), timeout)
	})
}

// WaitGone returns when the client has ended; it was meant to.
func (f *Fleet) WaitGone(ctx context.Context, client int, timeout time.Duration) error {
	p := f.proc(client)
	if p == nil {
		return fmt.Errorf("client %s does not run", Name(client))
	}
	p.expect()
	return p.wait(ctx, timeout)
}

// Quit has all clients close what they have, and returns when all are gone.
func (f *Fleet) Quit(ctx context.Context) error {
	return f.each(func(i int) error {
		p := f.proc(i)
		if p == nil {
			return nil
		}
		p.expect()
		if err := p.send(Command{Do: Quit}); err != nil {
			return err
		}
		if err := p.wait(ctx, quitTimeout); err != nil {
			return err
		}
		if p.err != nil {
			return fmt.Errorf("client %s.%d did not end well: %w", p.name, p.life, p.err)
		}
		return nil
	})
}

// Close kills whatever still runs.
func (f *Fleet) Close() error {
	return f.each(func(i int) error {
		if p := f.proc(i); p != nil {
			return p.kill()
		}
		return nil
	})
}

func (f *Fleet) proc(client int) *proc {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.procs[client]
}

func (f *Fleet) each(do func(client int) error) error {
	errs := make([]error, f.Size)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}
