package main

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// child is a running command. Windows knows no process groups to kill, but jobs: everything that the command starts
// belongs to its job and ends with it, also when this process dies. It knows no SIGTERM either: Ctrl-Break is the nearest
// to it that can be sent to a console group.
type child struct {
	pid   uint32
	job   windows.Handle
	ended chan status
}

// start runs path with argv and env on this process's own stdin, stdout and stderr.
func start(path string, argv, env []string, _ func() bool) (*child, error) {
	cmd := &exec.Cmd{Path: path, Args: argv, Env: env, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	c := &child{job: job, ended: make(chan status, 1)}
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
		return nil, err
	}
	go func() {
		_ = cmd.Wait()
		c.ended <- status{code: cmd.ProcessState.ExitCode()}
	}()
	return c, nil
}

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

// send forwards a signal as Ctrl-Break.
func (c *child) send(os.Signal) { c.terminate() }

func (c *child) terminate() {
	_ = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, c.pid)
}

func (c *child) kill() { _ = windows.TerminateJobObject(c.job, 1) }

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

// close lets what the command left in the background go on, as elsewhere.
func (c *child) close(bool) {
	_ = c.limit(0)
	_ = windows.CloseHandle(c.job)
}
