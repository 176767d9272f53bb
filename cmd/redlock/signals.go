package main

import (
	"os"
	"os/signal"
	"syscall"
)

var ending = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// catch delivers the signals that ask a program to end, except SIGHUP and SIGINT where this process was told to ignore
// them: nohup does so, and a shell script for what it starts in the background. The child ignores those, too. Go does not
// tell whether others were ignored. stop gives them back their
// default effect.
func catch() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	for _, s := range ending {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c, func() { signal.Stop(c) }
}

// number returns the signal's number as the shells count it.
func number(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return int(syscall.SIGINT)
}
