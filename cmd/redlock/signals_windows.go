package main

import (
	"os"
	"os/signal"
	"syscall"
)

// commandSignals returns the signals that are for the command.
func commandSignals() []os.Signal { return endSignals }

func (*caught) catchStop() {}

// endsWait reports whether a signal ends the wait for a lock.
func endsWait(os.Signal) bool { return true }

// surviveBrokenPipes makes writes to an output without a reader fail.
func surviveBrokenPipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func (*caught) isResume(os.Signal) bool { return false }
