package main

import (
	"context"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// endSignals ask a program to end.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT}

// caught are the signals that this process catches in place of their default effects.
type caught struct {
	c      chan os.Signal
	resume atomic.Bool // the next SIGCONT resumes this process, which resumes the command itself
}

// catchSignals catches the given signals, except a SIGHUP or SIGINT that this process was started to ignore, as under
// nohup or in the background of a shell script. The command ignores those, too. Go does not report whether other
// signals were ignored.
func catchSignals(all []os.Signal) *caught {
	s := &caught{c: make(chan os.Signal, 64)}
	for _, one := range all {
		if !signal.Ignored(one) {
			signal.Notify(s.c, one)
		}
	}
	return s
}

// stop restores the default effects.
func (s *caught) stop() { signal.Stop(s.c) }

// untilSignal returns a context that ends at the first of endSignals. Its cause is the exit.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := catchSignals(endSignals)
	done := make(chan struct{})
	go func() {
		defer signals.stop()
		select {
		case s := <-signals.c:
			cancel(&exit{exitSignal + signalNumber(s), nil})
		case <-done:
		}
	}()
	return ctx, func() { close(done) }
}

// signalNumber returns the signal's number, which shells add to 128.
func signalNumber(s os.Signal) int {
	if n, ok := s.(syscall.Signal); ok {
		return int(n)
	}
	return int(syscall.SIGINT)
}
