package check

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redlock-go/redlock/chaos/history"
)

// Exclusion checks that no two holders of one name believed in it at the same time. One stretch may end in the very
// nanosecond in which the next begins.
func Exclusion(events []history.Event) Verdict {
	v := Verdict{Checker: "exclusion"}
	byName := map[string][]belief{}
	total := 0
	for _, b := range beliefs(events) {
		byName[b.name] = append(byName[b.name], b)
		total++
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		overlaps(&v, name, byName[name])
	}
	v.Looked = fmt.Sprintf("%d holds of %d names", total, len(byName))
	return v
}

// overlaps sweeps over the beliefs in one name. Beside each belief goes the one before it that ends last: if the two
// are apart, so are all earlier ones.
func overlaps(v *Verdict, name string, all []belief) {
	slices.SortFunc(all, func(a, b belief) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	for i, last := 1, all[0]; i < len(all); i++ {
		b := all[i]
		if b.start < last.end {
			v.find(name, []history.Event{last.from, last.to, b.from, b.to},
				"%q was held by two for %v: %s from %s to %s, %s from %s to %s", name, min(b.end, last.end)-b.start,
				who(last.who), secs(last.start), secs(last.end), who(b.who), secs(b.start), secs(b.end))
		}
		if b.end > last.end {
			last = b
		}
	}
}
