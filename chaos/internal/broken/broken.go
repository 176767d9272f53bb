// Package broken has our own lock, broken from outside, by name: what the checkers must catch on real masters (package
// controls) or in virtual time (package simulation). The lock's own code is whole. What breaks it stands around it: an
// option, a rewritten script, a wrapper of its nodes, or a wrapper of the handles that it returns.
package broken

import (
	"fmt"
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/internal/seam"
	"github.com/redlock-go/redlock/internal/wire"
)

// Lock is our own lock, broken from outside.
type Lock struct {
	Name string
	// Unclosed: its Lockers are never closed. Connected: when they are closed, a connection stays open.
	Unclosed, Connected bool

	options []redlock.Option
	wrap    func(*Wrapping)
}

// How late the holder learns of a loss, and how long a slow Unlock takes.
const (
	late     = 100 * time.Millisecond
	veryLate = 4 * time.Second
)

// All has every broken lock.
var All = append(rewrittenLocks,
	wrapped("majority less one", grantUnasked),
	with("no drift budget", redlock.WithDrift(0, 0)),
	wrapped("elapsed not subtracted", countFromAnswer),
	wrapped("no release after failure", keepLeftovers),
	with("restart guard off", redlock.WithoutRestartGuard()),
	voting("duplicate servers allowed", separateTwins),
	voting("healing counted at once", countHealed),
	wrapped("fencing without write-back", skipRaise),
	voting("keepalive that ignores votes", extendAlways),
	wrapped("lock handed over and released", releaseHandedOver),
	with("keepalive that does not extend", redlock.WithoutKeepalive()),
	held("release before the deadline", releaseLost),
	held("deadline moved to the loss", moveUntil),
	held("loss notified 100 ms late", notifyLate),
	held("loss never notified", neverNotify),
	held("new fence for each request", fenceRequests),
	held("term looked up for each write", lookUpTerm),
	wrapped("slot without a majority", grantUnasked),
	held("context that outlives Unlock", keepContext),
	held("fencing token not returned", hideFence),
	held("neither lock nor error", returnNothing),
	held("unlock that takes seconds", unlockSlowly),
	asking("writer that lets readers in", func(r *kinds.Request) {
		if r.Mode == kinds.Writer {
			r.Mode = kinds.Reader
		}
	}),
	asking("any owner is the same", func(r *kinds.Request) {
		if r.Owner != "" {
			r.Owner = "everybody"
		}
	}),
	asking("owner is a stranger to itself", func(r *kinds.Request) {
		if r.Mode == kinds.Reentrant {
			r.Mode = kinds.Mutex
		}
	}),
	with("pauses of 50 µs", redlock.WithRetry(50*time.Microsecond, 50*time.Microsecond)),
	with("pauses of a millisecond", redlock.WithRetry(time.Millisecond, time.Millisecond)),
	Lock{Name: "nothing closed", Unclosed: true},
	Lock{Name: "connection left open", Connected: true},
)

// Find returns the lock of that name; for "" the intact lock.
func Find(name string) (Lock, error) {
	i := slices.IndexFunc(All, func(l Lock) bool { return l.Name == name })
	switch {
	case i >= 0:
		return All[i], nil
	case name == "":
		return Lock{}, nil
	default:
		return Lock{}, fmt.Errorf("no broken lock is called %q: -h lists them", name)
	}
}

func with(name string, opts ...redlock.Option) Lock { return Lock{Name: name, options: opts} }

func asking(name string, ask func(*kinds.Request)) Lock {
	return wrapped(name, func(w *Wrapping) { w.Ask = ask })
}

func held(name string, hold func(*redlock.Locker, *redlock.Lock) kinds.Lock) Lock {
	return wrapped(name, func(w *Wrapping) { w.Hold = hold })
}

func voting(name string, vote func(master int, c *wire.Call, v *wire.Vote)) Lock {
	return wrapped(name, func(w *Wrapping) { w.vote = vote })
}

func wrapped(name string, wrap func(*Wrapping)) Lock { return Lock{Name: name, wrap: wrap} }

// Hooks is seam.Option with its type.
func Hooks(h seam.Hooks) redlock.Option { return seam.Option(h).(redlock.Option) }
