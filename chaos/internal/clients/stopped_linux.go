package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	stopTimeout = 10 * time.Second // for a process that has got SIGSTOP to stop
	stopPoll    = time.Millisecond
)

// waitStopped returns when every thread of the process has stopped, or when the process has ended.
func waitStopped(pid int) error {
	for began := time.Now(); !stopped(pid); time.Sleep(stopPoll) {
		if time.Since(began) > stopTimeout {
			return fmt.Errorf("process %d has not stopped %v after SIGSTOP", pid, stopTimeout)
		}
	}
	return nil
}

// stopped reports whether no thread of the process runs. It looks at the first thread before it lists the others: once
// one thread has stopped, no thread can start another.
func stopped(pid int) bool {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if !threadStopped(dir) {
		return false
	}
	threads, _ := filepath.Glob(filepath.Join(dir, "task", "*"))
	for _, thread := range threads {
		if !threadStopped(thread) {
			return false
		}
	}
	return true
}

// threadStopped reports whether the thread that dir describes has stopped or ended. The state is the first field after
// the command's name, which is in parentheses and may contain any character.
func threadStopped(dir string) bool {
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(fields) > 0 && bytes.Contains([]byte("TtZX"), fields[0])
}
