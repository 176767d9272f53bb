package simulation

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/broken"
	"github.com/redlock-go/redlock/chaos/internal/check"
)

// Control is this module's lock, broken from outside, with the checker that must notice.
type Control struct {
	Name string
	By   string
	// Says is a text that the verdict must contain, since some checkers verify several things. "" accepts any verdict.
	Says string
	// Profile is the profile whose schedules expose the fault, "" for all. Within is the maximum number of schedules,
	// counted from seed 1.
	Profile string
	Within  int
	Open    Open
}

// Controls returns all controls. A control that is not caught shows that a checker does not work.
func Controls() []Control {
	const everywhere = ""
	var all []Control
	for _, c := range []struct {
		name          string
		by            string
		says, profile string
		within        int
	}{
		{"majority less one", check.ByExclusion, "", "calm", 50},
		{"no drift budget", check.ByExclusion, "", "far away", 80},
		{"elapsed not subtracted", check.ByExclusion, "", "far away", 50},
		{"no token compared", check.ByExclusion, "", "calm", 20},
		{"no release after failure", check.ByResidue, "left on master", "ghosts", 20},
		{"restart guard off", check.ByExclusion, "", "rolling restarts", 50},
		{"duplicate servers allowed", check.ByExclusion, "", "twins", 50},
		{"healing counted at once", check.ByLossNotified, "all masters forgot", "all forgotten", 30},
		{"fencing without write-back", check.ByFencing, "", "split counters", 20},
		{"keepalive that ignores votes", check.ByExclusion, "", "islands", 30},
		{"lock handed over and released", check.ByExclusion, "", "calm", 60},
		{"keepalive that does not extend", check.ByLiveness, "in spite of its keepalive", "calm", 60},
		{"release before the deadline", check.ByExclusion, "", "far away", 50},
		{"deadline moved to the loss", check.ByExclusion, "was held by two", "far away", 50},
		{"loss notified 100 ms late", check.ByLossNotified, "was notified of the loss only at", "far away", 20},

		{"fence raised without a token check", check.ByFencing, "", "split counters", 100},
		{"fence counted from one", check.ByFencing, "", "total loss", 60},
		{"new fence for each nested hold", check.ByFencing, "holds it already", everywhere, 60},
		{"counters that never expire", check.ByResidue, "has no end", "calm", 20},
		{"one expiry for all readers", check.ByLiveness, "that was free from", "dead holders", 200},
		{"first of several names only", check.ByExclusion, "", "calm", 50},
		{"readers admitted despite a writer", check.ByExclusion, "", "calm", 50},
		{"election without fencing", check.ByLeaders, "", "calm", 50},
		{"job lock deleted at its end", check.ByMinHold, "", "calm", 20},
		{"minimum hold of mutexes only", check.ByMinHold, "", "calm", 50},
		{"permits kept until their TTL", check.ByLiveness, "that was free from", "dead holders", 60},
		{"slots counted by each master", check.BySlots, "holders of", "paused clients", 80},
		{"one slot for two permits", check.BySlots, "both had slot", "calm", 50},
		{"slot without a majority", check.BySlots, "", "paused clients", 60},
		{"context that outlives Unlock", ByContract, "outlives its Unlock", "calm", 5},
		{"fencing token not returned", ByContract, "the fencing token is 0", "calm", 20},
		{"neither lock nor error", ByContract, "neither lock nor error", "calm", 20},
		{"unlock that takes seconds", check.ByLiveness, "Unlock took", "calm", 20},
		{"writer that lets readers in", check.ByExclusion, "", "calm", 50},
		{"any owner is the same", check.ByExclusion, "", "calm", 50},
		{"owner is a stranger to itself", check.ByLiveness, "was refused to", "dead holders", 50},
		{"pauses of 50 µs", ByLoad, "", "calm", 20},
		{"pauses of a millisecond", ByLoad, "", "calm", 20},
	} {
		lock, ok := broken.Find(c.name)
		if !ok {
			panic("simulation: no broken lock is called " + c.name)
		}
		all = append(all, Control{c.name, c.by, c.says, c.profile, c.within, Broken(lock)})
	}
	return all
}

// FindControl returns the control of that name.
func FindControl(name string) (Control, bool) {
	all := Controls()
	i := slices.IndexFunc(all, func(c Control) bool { return c.Name == name })
	if i < 0 {
		return Control{}, false
	}
	return all[i], true
}

// Caught reports whether the control's checker has noticed the fault.
func (c Control) Caught(r *Result) bool {
	return slices.Contains(r.By(), c.By) && strings.Contains(r.Verdict(), c.Says)
}

// Catch plays schedules until the checker notices the fault. It returns the number of schedules and the result that
// shows the fault, or nil if none did.
func (c Control) Catch(ctx context.Context, play Play, order uint64) (schedules int, found *Result) {
	for n, s := range c.Schedules() {
		if ctx.Err() != nil {
			return n - 1, nil
		}
		if r := play(s, order); c.Caught(r) {
			return n, r
		}
	}
	return c.Within, nil
}

// Schedules returns the schedules in which the control must be caught, in order and numbered from 1.
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
