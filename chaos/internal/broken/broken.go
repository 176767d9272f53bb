// Package broken is our own lock with a rule taken out, by name: what the checkers must catch, on real masters (package
// controls) or in virtual time (package simulation). It is internal, since a broken lock is nobody else's business.
package broken

import (
	"slices"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/sabotage"
)

// Lock is our own lock without one of its rules.
type Lock struct {
	// Name says which.
	Name string
	// Options open it, on top of whatever else a Locker is opened with.
	Options []redlock.Option
	// Unclosed: nobody closes its Locker.
	Unclosed bool
}

// How late a loss is told: on real masters, later than any machine may be that is too busy to tell at once.
const (
	late     = 100 * time.Millisecond
	muchLate = 2 * time.Second
)

// All are all of them.
var All = []Lock{
	without("majority less one", sabotage.Rules{MajorityLess: 1}),
	with("no drift budget", redlock.WithDrift(0, 0)),
	without("elapsed not subtracted", sabotage.Rules{FromAnswer: true}),
	rewritten("no token compared", deleteAnything),
	without("no release after failure", sabotage.Rules{Unreleased: true}),
	with("restart guard off", redlock.WithoutRestartGuard()),
	without("duplicate servers allowed", sabotage.Rules{Twins: true}),
	without("healing counted at once", sabotage.Rules{Healed: true}),
	without("fencing without write-back", sabotage.Rules{Unraised: true}),
	without("keepalive that ignores votes", sabotage.Rules{Blind: true}),
	without("lock both handed over and given back", sabotage.Rules{HandedBack: true}),
	with("keepalive that does not extend", redlock.WithoutKeepalive()),
	without("release before the deadline", sabotage.Rules{EndedEarly: true}),
	without("lost lock released at once", sabotage.Rules{EndedEarly: true}),
	without("loss told late", sabotage.Rules{ToldLate: late}),
	without("loss told much too late", sabotage.Rules{ToldLate: muchLate}),
	{Name: "nothing closed", Unclosed: true},

	rewritten("fence written back to anybody", raiseUnseen),
	rewritten("fence counted from one", forgetHint),
	rewritten("readers that count nothing", takeAnyCount),
	rewritten("fence that does not count", countNothing),
	rewritten("fence of each hold of an owner", raiseInner),
	rewritten("counters that never end", keepForEver),
	rewritten("one expiry of all readers", expireTogether),
	rewritten("downgrade with a gap", dropWriter),
	rewritten("intents that no writer leaves", forgetIntents),
	rewritten("extension without the fencing token", extendUnfenced),
	rewritten("readers come in beside a writer", admitReaders),
}

// Find returns the lock of that name.
func Find(name string) (Lock, bool) {
	i := slices.IndexFunc(All, func(l Lock) bool { return l.Name == name })
	if i < 0 {
		return Lock{}, false
	}
	return All[i], true
}

func with(name string, opts ...redlock.Option) Lock { return Lock{Name: name, Options: opts} }

func without(name string, r sabotage.Rules) Lock {
	return with(name, sabotage.Option(r).(redlock.Option))
}

func rewritten(name string, script func(name, text string) string) Lock {
	return without(name, sabotage.Rules{Script: script})
}
