package check

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// counters is the prefix of the keys that may remain after a lock: fencing counters, which must outlive it. They
// expire.
const counters = "redlock:fence:"

// Residue checks that no master holds a key, except fencing counters with a TTL and the junk of a fault, once grace has
// passed after the last unlock and after the master's own return. It reads the snapshots of the phase Settled. Each
// master needs at least one snapshot that is late enough.
//
// The check proves something only if it would have seen a key that was left. So in the phase Ghosts, while masters were
// frozen, at least one lock must have been acquired and released, and at least one refused, with a TTL that ends after
// the last snapshot. A key of such a lock that is gone was released; it did not expire. Without such locks, as on a
// machine too busy to take the snapshots in time, the check is undecided.
func Residue(events []history.Event, masters int, grace time.Duration) Verdict {
	v, latest := left(events, masters, grace)
	taken, refused := probes(events, latest)
	switch {
	case taken == 0:
		v.Undecided = "no lock was taken while a master was frozen with a TTL long enough to be seen if its key had stayed"
	case refused == 0:
		v.Undecided = "no lock was refused while masters were frozen with a TTL long enough to be seen if its keys had stayed"
	}
	v.Looked += fmt.Sprintf(", %d locks taken and %d refused while masters were frozen", taken, refused)
	return v
}

// Left is Residue without the phase Ghosts. It finds only keys without a TTL or with a long one.
func Left(events []history.Event, masters int, grace time.Duration) Verdict {
	v, _ := left(events, masters, grace)
	return v
}

// left also returns the time of the last snapshot.
func left(events []history.Event, masters int, grace time.Duration) (Verdict, time.Duration) {
	v := on(events, ByResidue)
	settled, ok := phase(events, history.Settled)
	if !ok {
		v.find("", nil, "the run never settled: there was no last unlock to check after")
		return v, 0
	}
	back := returns(events, settled, masters)
	looks, dirty, ending := make([]int, masters), make([]bool, masters), make([]int, masters)
	latest := time.Duration(0)
	for _, e := range events {
		if e.Kind != history.Keys || e.T < back[e.Master]+grace {
			continue
		}
		looks[e.Master]++
		latest = max(latest, e.T)
		held := slices.DeleteFunc(slices.Clone(e.Held), junk)
		left := slices.DeleteFunc(slices.Clone(held), ends)
		ending[e.Master] = len(held) - len(left)
		if len(left) > 0 && !dirty[e.Master] {
			dirty[e.Master] = true
			v.find(left[0].Name, []history.Event{e}, "master %d still holds %s, %s after everything was released",
				e.Master, list(left), secs(e.T-back[e.Master]))
		}
	}
	for m, n := range looks {
		if n == 0 {
			v.find("", nil, "master %d was not inspected later than %v after its return", m, grace)
		}
	}
	kept := 0
	for _, n := range ending {
		kept += n
	}
	v.Looked = fmt.Sprintf("%d masters %v after the last unlock; %d fencing counters end by themselves",
		masters, grace, kept)
	v.Figures = []Figure{{"fencing counters left, which end by themselves", kept}}
	return v, latest
}

// junk reports whether a fault wrote the key, and not a lock.
func junk(k history.Key) bool { return strings.HasPrefix(k.Name, history.JunkPrefix) }

func ends(k history.Key) bool { return strings.HasPrefix(k.Name, counters) && k.Left > 0 }

// probes counts the locks of the phase Ghosts whose keys, if left, would still exist at the time latest: those acquired
// and released, and those refused, while a master was frozen. The TTL of a key that waits for a frozen master starts at
// the thaw. The TTL of a key that a refused lock set on another master starts when the lock was asked for.
func probes(events []history.Event, latest time.Duration) (taken, refused int) {
	begin, ok := phase(events, history.Ghosts)
	if !ok {
		return 0, 0
	}
	var froze, thaw time.Duration // the first ones
	for _, o := range Outages(events, history.Heal) {
		if o.On == "masters" && o.From >= begin && !o.Open {
			froze, thaw = cmp.Or(froze, o.From), min(cmp.Or(thaw, o.To), o.To)
		}
	}
	asked := map[history.ID]history.Event{}
	for _, e := range events {
		if froze == 0 || e.T < froze || e.T > thaw {
			continue
		}
		switch e.Kind {
		case history.Invoked:
			asked[e.ID()] = e
		case history.Released:
			if a, ok := asked[e.ID()]; ok && e.Err == "" && thaw+a.TTL > latest {
				taken++
			}
		case history.Refused:
			if a, ok := asked[e.ID()]; ok && a.T+a.TTL > latest {
				refused++
			}
		default: // no end of a lock
		}
	}
	return taken, refused
}

func list(keys []history.Key) string {
	parts := make([]string, len(keys))
	for i, k := range keys {
		left := "no TTL"
		if k.Left >= 0 {
			left = "for " + k.Left.String()
		}
		parts[i] = fmt.Sprintf("%q (token %q, %s)", k.Name, k.Token, left)
	}
	return strings.Join(parts, ", ")
}
