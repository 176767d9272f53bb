package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// A proc is the harness's side of one life of a client.
type proc struct {
	name    string
	life    int
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string   // what is done
	gone    chan struct{} // closed when the process has ended
	err     error         // how it ended; valid when gone is closed

	began bool // its traffic has begun; only listen uses it

	mu     sync.Mutex
	ending bool // its end is expected
}

// errHung says that a client has not answered a command for longer than a busy machine explains.
var errHung = errors.New("it hangs")

const (
	readyTimeout = time.Minute
	quitTimeout  = 10 * time.Second
	tellTimeout  = 5 * time.Second // for a client to acknowledge a crash point or a clock rate
	thawEvery    = 20 * time.Millisecond
	// hanging times the timeout is when a client that has not answered hangs. Before that it is only late.
	hanging = 3
)

// start starts the process, whose standard error goes to log. It returns the standard output.
func (p *proc) start(log *os.File) (out io.Reader, err error) {
	p.cmd.Stderr = log
	detach(p.cmd)
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return out, p.cmd.Start()
}

// listen reads the client's answers until the process ends.
func (p *proc) listen(out io.Reader, held func(int)) {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a traffic.Answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			continue // torn by a kill
		}
		if a.Held > 0 {
			held(a.Held)
		}
		p.began = p.began || a.Done == traffic.Ready
		if a.Done != "" {
			p.answers <- a.Done
		}
	}
}

// do sends a command and waits for its answer.
func (p *proc) do(ctx context.Context, c traffic.Command, timeout time.Duration) error {
	if err := p.send(c); err != nil {
		return err
	}
	return p.await(ctx, c.Do, timeout)
}

func (p *proc) send(c traffic.Command) error {
	line, err := json.Marshal(c)
	if err != nil {
		return err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("client %s.%d takes no command: %w", p.name, p.life, err)
	}
	return nil
}

func (p *proc) await(ctx context.Context, done string, timeout time.Duration) error {
	return p.within(ctx, timeout, fmt.Sprintf("answer %q", done), func(ctx context.Context) error {
		select {
		case got := <-p.answers:
			return p.got(got, done)
		case <-p.gone:
			select { // it may have answered and ended at once
			case got := <-p.answers:
				return p.got(got, done)
			default:
				return p.running()
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// within waits for an answer. It returns an error if the answer comes after the timeout, and errHung if it does not
// come.
func (p *proc) within(ctx context.Context, timeout time.Duration, what string, wait func(context.Context) error) error {
	begin := time.Now()
	most, cancel := context.WithTimeout(ctx, hanging*timeout)
	defer cancel()
	err := wait(most)
	took := time.Since(begin)
	switch {
	case err == nil && took > timeout:
		return fmt.Errorf("client %s.%d took %v to %s, of %v at most",
			p.name, p.life, took.Round(time.Millisecond), what, timeout)
	case err == nil || most.Err() == nil:
		return err
	case ctx.Err() == nil:
		return fmt.Errorf("client %s.%d did not %s within %v: %w", p.name, p.life, what, hanging*timeout, errHung)
	default:
		return fmt.Errorf("client %s.%d did not %s: %w", p.name, p.life, what, err)
	}
}

func (p *proc) got(answer, done string) error {
	if answer != done {
		return fmt.Errorf("client %s.%d answered %q instead of %q", p.name, p.life, answer, done)
	}
	return nil
}

// running returns nil while the process runs.
func (p *proc) running() error {
	select {
	case <-p.gone:
		return fmt.Errorf("client %s.%d has ended: %v", p.name, p.life, p.err) //nolint:errorlint // it may be nil
	default:
		return nil
	}
}

// kill ends the process at once, frozen or not, and returns when it is gone.
func (p *proc) kill() error {
	p.expect()
	select {
	case <-p.gone:
		return nil
	default:
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill client %s.%d: %w", p.name, p.life, err)
	}
	<-p.gone
	return nil
}

func (p *proc) wait(ctx context.Context, timeout time.Duration) error {
	return p.within(ctx, timeout, "end", func(ctx context.Context) error {
		select {
		case <-p.gone:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

func (p *proc) expect() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = true
}

func (p *proc) expected() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ending
}

// clearCrashPoint removes the crash point of the client. The client may freeze itself before it reads the command, so
// clearCrashPoint thaws it until it answers.
func (p *proc) clearCrashPoint(ctx context.Context) error {
	stop := make(chan struct{})
	var thawing sync.WaitGroup
	defer thawing.Wait()
	defer close(stop)
	thawing.Go(func() {
		tick := time.NewTicker(thawEvery)
		defer tick.Stop()
		for {
			if thaw(p.cmd.Process) != nil {
				return // it has ended
			}
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	})
	return p.do(ctx, traffic.Command{Do: traffic.SetCrashPoint, CrashPoint: traffic.NoCrashPoint}, tellTimeout)
}
