package peers

import (
	"fmt"
	"slices"
)

// Contenders returns the contestants that can wait for a lock.
func Contenders() []*Contestant {
	return []*Contestant{
		{Name: Redlock, Masters: QuorumMasters, Open: OpenRedlock, Setup: "redlock over five masters"},
		{
			Name: RedlockNoHandOver, Masters: QuorumMasters, Open: openNoHandOver,
			Setup: "the same WithoutHandOver",
		},
		{
			Name:    Redsync,
			Masters: QuorumMasters,
			Open:    OpenRedsync(false),
			Setup:   "redsync over five masters, 32 tries 50 to 250 ms apart as by default, and on",
		},
		{Name: Rueidislock, Masters: 1, Open: openRueidis, Setup: "rueidislock over one master"},
	}
}

// FindContender returns the contender, or the contestant of the slots part, called name.
func FindContender(name string) (*Contestant, error) {
	for _, c := range slices.Concat(Contenders(), SlotContestants(false), SlotContestants(true)) {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no contender is called %q", name)
}
