// Package broken has our own lock, broken from outside, by name: what the checkers must catch on real masters (package
// controls) or in virtual time (package simulation). The lock's own code is whole. What breaks it stands around it: an
// option, a rewritten script, a wrapper of its nodes, or a wrapper of the handles that it returns.
package broken

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/seam"
)

// Lock is our own lock, broken from outside.
type Lock struct {
	Name string
	// Unclosed: its Lockers are never closed. Connected: when they are closed, a connection stays open.
	Unclosed, Connected bool
	// Clock, if set, wraps the clock of its Lockers.
	Clock func(clock.Clock) clock.Clock

	options []redlock.Option
	wrap    func(*Wrapping)
}

// How late the holder learns of a loss. On real masters the delay must exceed what a busy machine may cause.
const (
	late     = 100 * time.Millisecond
	veryLate = 4 * time.Second
	never    = time.Hour
)

// All has every broken lock.
var All = []Lock{
	wrapped("majority less one", grantUnasked),
	with("no drift budget", redlock.WithDrift(0, 0)),
	wrapped("elapsed not subtracted", countFromAnswer),
	rewritten("no token compared", skipTokenCheck),
	wrapped("no release after failure", keepLeftovers),
	with("restart guard off", redlock.WithoutRestartGuard()),
	wrapped("duplicate servers allowed", separateTwins),
	wrapped("healing counted at once", countHealed),
	wrapped("fencing without write-back", skipRaise),
	wrapped("keepalive that ignores votes", extendAlways),
	wrapped("silent releases not published", keepSilence),
	wrapped("lock handed over and released", releaseHandedOver),
	with("keepalive that does not extend", redlock.WithoutKeepalive()),
	wrapped("release before the deadline", releaseLost),
	wrapped("lost lock released at once", releaseLost),
	wrapped("loss notified 100 ms late", notifyLate(late)),
	wrapped("loss notified 4 s late", notifyLate(veryLate)),
	wrapped("loss never notified", notifyLate(never)),
	{Name: "nothing closed", Unclosed: true},
	{Name: "connection left open", Connected: true},
	{Name: "suspensions not counted", Clock: hideSuspensions},

	rewritten("fence raised without a token check", raiseUnseen),
	rewritten("fence counted from one", forgetHint),
	rewritten("readers without a new fence", reuseCount),
	rewritten("fence that is always 1", fenceOne),
	wrapped("new fence for each request", fenceRequests),
	rewritten("new fence for each nested hold", raiseInner),
	rewritten("counters that never expire", dropExpiry),
	rewritten("one expiry for all readers", expireTogether),
	rewritten("downgrade with a gap", dropWriter),
	rewritten("writers without intents", forgetIntents),
	rewritten("all intents withdrawn with one", withdrawAll),
	rewritten("extension without the fencing token", extendUnfenced),
	rewritten("readers admitted despite a writer", admitReaders),
	rewritten("first of several names only", lockFirst),
	rewritten("intents that outlive their writer", keepIntents),
	rewritten("election without fencing", fenceOne),
	wrapped("term looked up for each write", lookUpTerm),
	rewritten("job lock deleted at its end", freeKept),
	rewritten("minimum hold of mutexes only", freeKeptEntries),
	rewritten("permits kept until their TTL", keepPermits),
	rewritten("permits with the same fence", shareFences),
	rewritten("slots counted by each master", countPermits),
	wrapped("slot without a majority", grantUnasked),
	rewritten("number of slots not compared", ignoreSlots),
}

// Find returns the lock of that name.
func Find(name string) (Lock, bool) {
	i := slices.IndexFunc(All, func(l Lock) bool { return l.Name == name })
	if i < 0 {
		return Lock{}, false
	}
	return All[i], true
}

func with(name string, opts ...redlock.Option) Lock { return Lock{Name: name, options: opts} }

func wrapped(name string, wrap func(*Wrapping)) Lock { return Lock{Name: name, wrap: wrap} }

func rewritten(name string, script func(name, text string) string) Lock {
	return with(name, Hooks(seam.Hooks{Script: script}))
}

// hideSuspensions returns the clock without the times for which the machine was suspended.
func hideSuspensions(c clock.Clock) clock.Clock { return struct{ clock.Clock }{c} }

// Hooks is seam.Option with its type.
func Hooks(h seam.Hooks) redlock.Option { return seam.Option(h).(redlock.Option) }
