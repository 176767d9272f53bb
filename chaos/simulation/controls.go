package simulation

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/sabotage"
)

// Control is the lock of this module with a rule taken out, and the checker that must notice.
type Control struct {
	Name string
	By   Checker
	// Says is what the verdict must say besides, "" for anything: some checkers look at more than one thing.
	Says string
	// Profile is the one in which it shows, "" for all; Within is how many schedules it may take, from seed 1 on.
	Profile string
	Within  int
	Open    Open
}

// Controls returns all controls. One that is not caught has shown that a checker does not check.
func Controls() []Control {
	const (
		everywhere = ""
		late       = 100 * time.Millisecond
	)
	broken := func(r sabotage.Rules) Open { return Product(sabotage.Option(r).(redlock.Option)) }
	script := func(f func(name, text string) string) Open { return broken(sabotage.Rules{Script: f}) }
	return []Control{
		{"majority less one", ByExclusion, "", "calm", 50, broken(sabotage.Rules{MajorityLess: 1})},
		{"no drift budget", ByExclusion, "", "far away", 80, Product(redlock.WithDrift(0, 0))},
		{"elapsed not subtracted", ByExclusion, "", "far away", 50, broken(sabotage.Rules{FromAnswer: true})},
		{"no token compared", ByExclusion, "", "calm", 20, script(deleteAnything)},
		{"no release after failure", ByResidue, "left on master", "ghosts", 20, broken(sabotage.Rules{Unreleased: true})},
		{"restart guard off", ByExclusion, "", "rolling restarts", 50, Product(redlock.WithoutRestartGuard())},
		{"duplicate servers allowed", ByExclusion, "", "twins", 50, broken(sabotage.Rules{Twins: true})},
		{"healing counted at once", ByTold, "all masters forgot", "all forgotten", 30, broken(sabotage.Rules{Healed: true})},
		{"fencing without write-back", ByFencing, "", "split counters", 20, broken(sabotage.Rules{Unraised: true})},
		{"keepalive that ignores votes", ByExclusion, "", "islands", 30, broken(sabotage.Rules{Blind: true})},
		{"lock both handed over and given back", ByExclusion, "", "calm", 60, broken(sabotage.Rules{HandedBack: true})},
		{"keepalive that does not extend", ByLiveness, "in spite of its keepalive", "calm", 60, Product(redlock.WithoutKeepalive())},
		{"release before the deadline", ByExclusion, "its time was up, told", "far away", 50, broken(sabotage.Rules{EndedEarly: true})},
		{"lost lock released at once", ByExclusion, "nothing is left of it before its Until", "majority lost", 5, broken(sabotage.Rules{EndedEarly: true})},
		{"loss told late", ByTold, "late that", "far away", 20, broken(sabotage.Rules{ToldLate: late})},

		{"fence written back to anybody", ByFencing, "", "split counters", 100, script(raiseUnseen)},
		{"fence counted from one", ByFencing, "", "total loss", 60, script(forgetHint)},
		{"fence of each hold of an owner", ByFencing, "two fencing tokens of one owner", everywhere, 60, script(raiseInner)},
		{"counters that never end", ByResidue, "has no end", "calm", 20, script(keepForEver)},
		{"one expiry of all readers", ByLiveness, "though nobody held it", "dead holders", 60, script(expireTogether)},
		{"downgrade with a gap", ByExclusion, "", "calm", 50, script(dropWriter)},
		{"intents that no writer leaves", ByLiveness, "keeps others out", "readers without a gap", 5, script(forgetIntents)},
		{"extension without the fencing token", ByFencing, "", "counters lost under a lock", 5, script(extendUnfenced)},
		{"readers come in beside a writer", ByExclusion, "", "calm", 50, script(admitReaders)},
	}
}

// Caught reports whether the checker named beforehand has noticed.
func (c Control) Caught(r *Result) bool {
	return slices.Contains(r.By(), c.By) && strings.Contains(r.Verdict(), c.Says)
}

// Catch runs the schedules until the checker has noticed. It returns how many it took, and what was found; nil if nothing was.
func (c Control) Catch(ctx context.Context) (schedules int, found *Result) {
	for n, s := range c.Schedules() {
		if ctx.Err() != nil {
			return n - 1, nil
		}
		if r := InBubble(s, c.Open); c.Caught(r) {
			return n, r
		}
	}
	return c.Within, nil
}

// Schedules are those in which the control must be caught, in this order, counted from 1.
func (c Control) Schedules() iter.Seq2[int, Schedule] {
	return func(yield func(int, Schedule) bool) {
		for seed, n := uint64(1), 1; n <= c.Within; seed++ {
			if s := Draw(seed); c.Profile == "" || s.Profile == c.Profile {
				if !yield(n, s) {
					return
				}
				n++
			}
		}
	}
}
