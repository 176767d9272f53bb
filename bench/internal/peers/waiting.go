package peers

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

// FindContender returns the contender called name.
func FindContender(name string) (*Contestant, error) {
	found, err := Pick(Contenders(), name)
	if err != nil {
		return nil, err
	}
	return found[0], nil
}
