// Command redlock runs a shell command under a quorum lock. It acquires the lock on a majority of independent Redis
// masters, extends it while the command runs, and ends the command if the lock is lost.
//
//	export REDLOCK_MASTERS=redis://10.0.0.1:6379,redis://10.0.0.2:6379,redis://10.0.0.3:6379
//	redlock run nightly-report -- ./report.sh
//	redlock status nightly-report
//
// The exit status of run is that of the command or, for example, 69 without a majority, 70 if the lock was lost, or 75
// if the lock was not acquired. "redlock run -h" lists all statuses and the flags.
package main

import (
	"os"
	"runtime"
)

// The main goroutine starts the child, and Linux ends the child with the *thread* that started it. The first thread
// lives as long as the process does.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) > 0 && os.Args[0] == supervisorName {
		os.Exit(supervise(os.Args[1:]))
	}
	err := newRoot().Execute()
	code, message := outcome(err)
	if message != "" {
		stderr.say(message)
	}
	stderr.flush(flushAtExit)
	os.Exit(code)
}
