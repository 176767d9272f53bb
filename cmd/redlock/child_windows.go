package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/redlock-go/redlock"
)

// supervisorName and supervise are for systems without jobs.
const supervisorName = "redlock-supervisor"

func supervise([]string) int { return exitUsage }

// child is a running command. Windows has jobs in place of process groups: everything that the command starts belongs
// to its job and ends with it, also when this process dies. In place of SIGTERM, a console group gets Ctrl-Break.
type child struct {
	pid   uint32
	job   windows.Handle
	grace time.Duration
	ended chan status
	stops chan struct{} // closed by stop
}

// start runs path with argv and env on this process's own stdin, stdout and stderr.
func start(
	_ *redlock.Lock, grace time.Duration, _ *caught, path string, argv, env []string,
) (*child, error) {
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	c := &child{job: job, grace: grace, ended: make(chan status, 1), stops: make(chan struct{})}
	if err := c.limit(windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	c.pid = uint32(cmd.Process.Pid)
	if err := c.adopt(); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = windows.CloseHandle(job)
		return nil, fmt.Errorf("%w: %w", errMayHaveRun, err)
	}
	go c.watch(cmd)
	return c, nil
}

// watch sends the command's status when it has ended; after stop, when nothing of the job is left.
func (c *child) watch(cmd *exec.Cmd) {
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(exited)
	}()
	select {
	case <-exited:
	case <-c.stops:
		c.interrupt()
		for end := time.Now().Add(c.grace); !c.gone() && time.Now().Before(end); {
			time.Sleep(10 * time.Millisecond)
		}
		_ = windows.TerminateJobObject(c.job, 1)
		<-exited
	}
	c.ended <- status{code: cmd.ProcessState.ExitCode()}
}

// reportDeadline does nothing: there is no supervisor.
func (c *child) reportDeadline(*redlock.Lock) {}

// stop ends the whole job: Ctrl-Break, and after the grace period the end of every process. It is called once.
func (c *child) stop() { close(c.stops) }

func (c *child) limit(flags uint32) error {
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: flags},
	}
	_, err := windows.SetInformationJobObject(c.job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	return os.NewSyscallError("SetInformationJobObject", err)
}

// adopt puts the command into its job. What it started before that, in its first moments, is not in it.
func (c *child) adopt() error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, c.pid)
	if err != nil {
		return os.NewSyscallError("OpenProcess", err)
	}
	defer func() { _ = windows.CloseHandle(process) }()
	return os.NewSyscallError("AssignProcessToJobObject", windows.AssignProcessToJobObject(c.job, process))
}

// send forwards a signal as Ctrl-Break, which a command that is being stopped has received already.
func (c *child) send(os.Signal) {
	select {
	case <-c.stops:
	default:
		c.interrupt()
	}
}

func (c *child) interrupt() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, c.pid)
}

// gone reports whether nothing of the job is left.
func (c *child) gone() bool {
	var info struct {
		userTime, kernelTime, periodUserTime, periodKernelTime int64
		pageFaults, total, active, terminated                  uint32
	}
	const basicAccounting = 1
	err := windows.QueryInformationJobObject(c.job, basicAccounting,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err != nil || info.active == 0
}

// close lets processes that the command left in the background continue, as on other systems.
func (c *child) close(bool) {
	_ = c.limit(0)
	_ = windows.CloseHandle(c.job)
}
