// Command redlock takes a quorum lock from the shell: it locks a name on a majority of independent Redis masters, runs a
// command while it holds the lock, and stops the command if the lock is lost.
//
//	redlock run nightly-report -- ./report.sh
//	redlock status nightly-report
package main

import (
	"fmt"
	"os"
	"runtime"
)

// The main goroutine starts the child, and Linux ends the child with the *thread* that started it. The first thread lives
// as long as the process does.
func init() { runtime.LockOSThread() }

func main() {
	if len(os.Args) > 0 && os.Args[0] == supervisorName {
		os.Exit(supervise(os.Args[1:]))
	}
	err := newRoot().Execute()
	code, message := outcome(err)
	if message != "" {
		fmt.Fprintln(os.Stderr, message)
	}
	os.Exit(code)
}
