package main

import (
	"os"
	"os/signal"
	"syscall"
)

var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}

// catchSignals delivers the signals that ask a program to end, except a SIGHUP or SIGINT that this process was started
// to ignore, as under nohup or in the background of a shell script. The command ignores those, too. Go does not report
// whether other signals were ignored. stop restores the default effects.
func catchSignals() (signals <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 16)
	for _, s := range endSignals {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return c, func() { signal.Stop(c) }
}

// signalNumber returns the signal's number, which shells add to 128.
func signalNumber(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return int(syscall.SIGINT)
}
