package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Counters is the prefix of the keys that may remain after a lock: fencing counters, which must outlive it. They
// expire.
const Counters = "redlock:fence:"

// Residue checks that no master holds a key, except fencing counters with a TTL, once [Terms.Grace] has passed after
// the last unlock and after the master's own return. It reads the snapshots of the phase Settled. Each master needs at
// least one snapshot that is late enough.
//
// It finds only keys without a TTL, or with one that ends after the snapshots. Virtual time also has long TTLs.
func Residue(events []history.Event, t Terms) Verdict {
	v := on(events, ByResidue)
	settled, ok := phase(events, history.Settled)
	if !ok {
		v.find("", nil, "the run never settled: there was no last unlock to check after")
		return v
	}
	back := returns(events, settled, t.Masters)
	looks, dirty, ending := make([]int, t.Masters), make([]bool, t.Masters), make([]int, t.Masters)
	for _, e := range events {
		if e.Kind != history.Keys || e.T < back[e.Master]+t.Grace {
			continue
		}
		looks[e.Master]++
		left := slices.DeleteFunc(slices.Clone(e.Held), ends)
		ending[e.Master] = len(e.Held) - len(left)
		if len(left) > 0 && !dirty[e.Master] {
			dirty[e.Master] = true
			v.find(left[0].Name, []history.Event{e}, "master %d still holds %s, %s after everything was released",
				e.Master, list(left), secs(e.T-back[e.Master]))
		}
	}
	for m, n := range looks {
		if n == 0 {
			v.find("", nil, "master %d was not inspected later than %v after its return", m, t.Grace)
		}
	}
	kept := 0
	for _, n := range ending {
		kept += n
	}
	v.Looked = fmt.Sprintf("%d masters %v after the last unlock; %d fencing counters end by themselves",
		t.Masters, t.Grace, kept)
	return v
}

func ends(k history.Key) bool { return strings.HasPrefix(k.Name, Counters) && k.Left > 0 }

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
