package redlocktest

import (
	"testing"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/embedded"
	"github.com/redlock-go/redlock/internal/memnet"
	"github.com/redlock-go/redlock/internal/simnet"
)

// StartVirtual is [Start] for a test that must run in a bubble of testing/synctest. Time in a bubble advances when all
// of its goroutines wait, so that a TTL of a minute ends without a real wait. The masters have the same methods, but
// listen on no socket: their URLs have addresses from 192.0.2.0/24, to which [redlock.Open] and node.Open connect
// within the process. Other clients cannot reach them.
//
// t must be the testing.T of the bubble, and every Locker must be closed before the bubble ends. When t ends, its
// cleanup lets two seconds of the bubble's time pass, and marks t as failed if a Locker is still open. StartVirtual
// fails t immediately if it is called outside a bubble, or if n is below 1.
func StartVirtual(t testing.TB, n int) []*Master {
	t.Helper()
	if !inBubble() {
		t.Fatalf("redlocktest: StartVirtual must be called in a bubble of testing/synctest: " +
			"use synctest.Test, or Start")
	}
	if n < 1 {
		t.Fatalf("redlocktest: %d masters: there must be at least 1", n)
	}
	all := make([]*embedded.Master, n)
	addrs := memnet.Reserve(n)
	t.Cleanup(func() { // after the network's own cleanup, and after a Locker's Close
		embedded.CloseAll(all)
	})
	world := simnet.NewAt(&leaks{TB: t}, 1, addrs, embedded.Uptime)
	t.Cleanup(memnet.Serve(addrs, world.Dial))
	masters := make([]*Master, n)
	for i := range all {
		all[i] = embedded.Wrap(world.Master(i))
		masters[i] = &Master{t: t, in: all[i]}
	}
	return masters
}

// leaks replaces the errors of the network about open connections with one error about an open Locker.
type leaks struct {
	testing.TB
	reported bool
}

func (l *leaks) Errorf(string, ...any) {
	l.Helper()
	if !l.reported {
		l.TB.Errorf("redlocktest: a Locker is still connected to its masters: " +
			"close every Locker before its bubble ends")
	}
	l.reported = true
}

// inBubble reports whether the calling goroutine runs in a bubble of testing/synctest. The clock of every bubble starts
// at the beginning of the year 2000.
func inBubble() bool { return clock.System.Now().UTC().Year() < 2020 }
