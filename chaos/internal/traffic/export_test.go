package traffic

import (
	"time"

	"github.com/redlock-go/redlock/clock"
)

// Drifting is the clock that a client's lock goes by.
type Drifting interface {
	clock.Clock
	Gain(seconds float64)
	Right(t time.Time) time.Time
}

// NewDrifting returns the clock of a client with that configuration.
func NewDrifting(c Config) Drifting { return drifting{newDrift(c)} }

type drifting struct{ *drift }

func (d drifting) Gain(seconds float64)        { d.gain(seconds) }
func (d drifting) Right(t time.Time) time.Time { return d.right(t) }
