package clients

import (
	"errors"
	"io"
	"os"
	"os/exec"
)

// process is a client process.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.Reader
}

// startProcess starts a client, whose standard error goes to log.
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

// kill ends the process at once, frozen or not. It does nothing if the process has ended.
func (p *process) kill() error {
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// freeze stops the process at whatever point it is. thaw continues it, also if it froze itself.
func (p *process) freeze() error { return freeze(p.cmd.Process) }
func (p *process) thaw() error   { return thaw(p.cmd.Process) }
