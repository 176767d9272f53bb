package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// sharedClock counts the time for which the machine is suspended, as the deadline of a lock does.
const sharedClock = unix.CLOCK_BOOTTIME

// dieTogether makes the kernel send SIGTERM to the command when its supervisor dies. It is a last resort, for the case
// that redlock and its supervisor are killed together.
func dieTogether(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGTERM }

// resumeAtDeath makes the kernel resume the supervisor, if it is stopped, when redlock dies.
func resumeAtDeath(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGCONT }

// ownProgram returns the path of the program that this process runs. The path stays valid if the file is replaced.
func ownProgram() (string, error) { return "/proc/self/exe", nil }

// inheritOrphans makes this process the parent of every descendant whose own parent ends, in whatever group or session.
func inheritOrphans() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// becomeSupervisor makes this process inherit orphans. It also gives it a name of its own, so that killall redlock
// leaves it to do its work.
func becomeSupervisor() {
	inheritOrphans()
	_ = os.WriteFile("/proc/self/comm", []byte("supervisor"), 0)
}

// descendant is a process that descends from this one.
type descendant struct{ pid, parent, group int }

// descendants returns the processes that descend from this one, without those of except and what descends from them.
func descendants(except map[int]bool) []descendant {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]descendant{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := relation(pid); ok && !except[pid] {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	var found []descendant
	for next := []int{os.Getpid()}; len(next) > 0; next = next[1:] {
		for _, p := range children[next[0]] {
			found = append(found, p)
			next = append(next, p.pid)
		}
	}
	return found
}

// descendantsByNow returns the processes that descend from this one already, as after "agent & exec redlock".
func descendantsByNow() map[int]bool {
	if unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil) != nil {
		return nil // no children: the usual case, in which /proc need not be read
	}
	found := map[int]bool{}
	for _, p := range descendants(nil) {
		found[p.pid] = true
	}
	return found
}

// relation reads a process's parent and group. The program's name, in parentheses, may contain anything.
func relation(pid int) (p descendant, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	p.pid = pid
	var state string
	n, _ := fmt.Sscan(string(stat[bytes.LastIndexByte(stat, ')')+1:]), &state, &p.parent, &p.group)
	return p, n == 3
}
