package redlocktest

import (
	"sync"
	"testing"
	"time"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/memnet"
	"github.com/redlock-go/redlock/internal/simnet"
)

// uptime is what masters report at first, as those of [Start] do.
const uptime = 30 * 24 * time.Hour

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
	all := make([]*virtual, n)
	addrs := memnet.Reserve(n)
	t.Cleanup(func() { // after the network's own cleanup, and after a Locker's Close
		for _, v := range all {
			v.close()
		}
	})
	world := simnet.NewAt(&leaks{TB: t}, 1, addrs, uptime)
	t.Cleanup(memnet.Serve(addrs, world.Dial))
	masters := make([]*Master, n)
	for i := range all {
		all[i] = &virtual{m: world.Master(i)}
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

// virtual is a master in virtual time.
type virtual struct {
	m *simnet.Master

	mu      sync.Mutex
	closed  bool
	frozen  bool
	pending []func() // run at the thaw
}

// do calls f unless the test, and so its bubble, has ended.
func (v *virtual) do(f func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.closed {
		f()
	}
}

// later calls f now if the master runs, or at the thaw if it is frozen.
func (v *virtual) later(f func()) {
	v.do(func() {
		switch {
		case v.frozen:
			v.pending = append(v.pending, f)
		case v.m.Up():
			f()
		}
	})
}

func (v *virtual) URL() string { return v.m.URL() }

func (v *virtual) Stop() {
	v.do(func() {
		v.m.Crash()
		v.frozen, v.pending = false, nil
	})
}

func (v *virtual) Start() error {
	v.do(func() {
		if !v.m.Up() {
			v.m.Restart()
		}
	})
	return nil
}

func (v *virtual) Freeze() {
	v.do(func() {
		if v.m.Up() {
			v.frozen = true
			v.m.Freeze()
		}
	})
}

func (v *virtual) Thaw() {
	v.do(func() {
		for _, f := range v.pending {
			f()
		}
		v.frozen, v.pending = false, nil
		v.m.Thaw()
	})
}

func (v *virtual) Wipe() { v.later(v.m.Wipe) }

func (v *virtual) Slow(d time.Duration) {
	v.do(func() { v.m.DelayWay(simnet.FromMaster, max(0, d), 0) })
}

func (v *virtual) Refuse(text string) {
	v.do(func() { v.m.ReplyOnly(text) })
}

func (v *virtual) Set(key, value string, ttl time.Duration) {
	v.later(func() { v.m.Set(key, value, max(0, ttl)) })
}

func (v *virtual) Del(key, channel, message string) {
	v.later(func() { v.m.Del(key, channel, message) })
}

func (v *virtual) close() { v.do(func() { v.closed = true }) }
