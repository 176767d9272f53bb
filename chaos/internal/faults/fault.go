// Package faults has the faults of a run, a seeded plan of them, and the nemesis that carries the plan out.
package faults

// A Fault can be injected into targets, and healed.
type Fault struct {
	Traits
	Effect
}

// Of returns the faults of these masters and clients, in the order of the catalog. If there is no control of one of
// them, it returns the faults of the other.
func Of(m MasterControl, c ClientControl) (all []*Fault) {
	for _, d := range catalog {
		switch {
		case d.masters != nil && m != nil:
			all = append(all, &Fault{d.Traits, d.masters(m)})
		case d.clients != nil && c != nil:
			all = append(all, &Fault{d.Traits, d.clients(c)})
		}
	}
	return all
}
