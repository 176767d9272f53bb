package redlockprom

import "github.com/redlock-go/redlock"

// NewOf returns a Collector of the Stats that a function returns.
func NewOf(stats func() redlock.Stats) *Collector { return &Collector{stats: stats} }
