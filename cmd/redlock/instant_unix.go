//go:build unix

package main

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/redlock-go/redlock"
)

// instant is a time on sharedClock, which redlock and its supervisor share, in nanoseconds.
type instant int64

func instantNow() instant {
	var now unix.Timespec
	_ = unix.ClockGettime(sharedClock, &now)
	return instant(now.Nano())
}

// endOf returns when a lock ends unless it is extended. It reads the shared clock first: if this process is stopped or
// the machine is suspended between the readings, the result is too early rather than too late.
func endOf(l *redlock.Lock) instant {
	now := instantNow()
	return now + instant(time.Until(l.Until()))
}

// left returns the time until i. It is negative if i has passed.
func (i instant) left() time.Duration { return time.Duration(i - instantNow()) }
