package clients

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// A Runner starts clients.
type Runner interface {
	// String returns a word for the report.
	String() string
	// Start starts a client called name, whose standard error goes to log. It may write below the folder dir.
	Start(name, dir string, log *os.File) (Running, error)
	// CanFreeze returns nil, or why clients cannot be frozen.
	CanFreeze() error
}

// Running is a client process.
type Running interface {
	// In and Out are its standard input and output.
	In() io.WriteCloser
	Out() io.Reader
	// Wait returns when the process has ended, with its exit error. It is called once, when Out has ended.
	Wait() error
	// Kill ends the process at once, frozen or not. It does nothing if the process has ended.
	Kill() error
	// Freeze stops the process at whatever point it is. Thaw continues it, also if it froze itself.
	Freeze() error
	Thaw() error
}

// Processes run clients as processes of this machine.
type Processes struct {
	// Command makes the command that runs a client (see [RunClient]).
	Command func() *exec.Cmd
}

var _ Runner = Processes{}

func (p Processes) String() string { return "on this machine" }

// Start starts a process.
func (p Processes) Start(_, _ string, log *os.File) (Running, error) {
	return startProcess(p.Command(), log)
}

// CanFreeze returns nil, or why processes cannot be frozen here.
func (p Processes) CanFreeze() error { return canFreeze() }

// process is a child of this one.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

func startProcess(cmd *exec.Cmd, log *os.File) (*process, error) {
	p := &process{cmd: cmd}
	cmd.Stderr = log
	detach(cmd)
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return p, cmd.Start()
}

func (p *process) In() io.WriteCloser { return p.in }
func (p *process) Out() io.Reader     { return p.out }

func (p *process) Wait() error { return p.cmd.Wait() }

func (p *process) Kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

func (p *process) Freeze() error { return freeze(p.cmd.Process) }

func (p *process) Thaw() error { return thaw(p.cmd.Process) }
