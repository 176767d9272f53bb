package clients

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/repeat"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// A proc is the harness's side of one life of a client.
type proc struct {
	name   string
	life   int
	cmd    *exec.Cmd
	in     io.Closer // its standard input
	client *rpc.Client
	began  atomic.Bool   // its traffic has begun
	ending atomic.Bool   // its end is expected
	gone   chan struct{} // closed when the process has ended
	err    error         // how it ended; valid when gone is closed

	setting atomic.Pointer[rpc.Call] // sets its crash point; nil if none was set
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

// start starts the process, whose standard error goes to log.
func (p *proc) start(log *os.File) error {
	p.cmd.Stderr = log
	detach(p.cmd)
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	p.in, p.client = in, rpc.NewClient(stream{out, in, in})
	return p.cmd.Start()
}

// call calls a method of [Remote] and waits for its reply. It returns an error if the reply comes after the timeout.
func (p *proc) call(ctx context.Context, timeout time.Duration, method string, arg any) error {
	return p.answer(ctx, timeout, p.send(method, arg))
}

// send calls a method of [Remote].
func (p *proc) send(method string, arg any) *rpc.Call {
	return p.client.Go("Client."+method, arg, new(int), make(chan *rpc.Call, 1))
}

// answer waits for the reply to a call.
func (p *proc) answer(ctx context.Context, timeout time.Duration, call *rpc.Call) error {
	method := strings.TrimPrefix(call.ServiceMethod, "Client.")
	return p.within(ctx, timeout, fmt.Sprintf("answer %q", method), func(ctx context.Context) error {
		var refused rpc.ServerError
		select {
		case <-call.Done:
			if call.Error == nil || errors.As(call.Error, &refused) {
				return call.Error
			}
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := p.wait(ctx); err != nil { // the connection has ended, and so does the process
			return err
		}
		return p.running()
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
	p.ending.Store(true)
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill client %s.%d: %w", p.name, p.life, err)
	}
	<-p.gone
	return nil
}

// wait returns when the process is gone.
func (p *proc) wait(ctx context.Context) error {
	select {
	case <-p.gone:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// clearCrashPoint removes the crash point of the client. The client may freeze itself before it reads the command, so
// clearCrashPoint thaws it until it answers.
func (p *proc) clearCrashPoint(ctx context.Context) error {
	stop := make(chan struct{})
	var thawing sync.WaitGroup
	defer thawing.Wait()
	defer close(stop)
	thawing.Go(func() {
		repeat.Every(thawEvery, stop, func() { _ = thaw(p.cmd.Process) }) // it may have ended
	})
	if setting := p.setting.Swap(nil); setting != nil { // the client executes calls at once, in any order
		if err := p.answer(ctx, tellTimeout, setting); err != nil {
			return err
		}
	}
	return p.call(ctx, tellTimeout, "SetCrashPoint", traffic.NoCrashPoint)
}
