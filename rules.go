package redlock

import (
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/sabotage"
)

// rules are what no option of the public API may touch, and bookkeeping of the options.
type rules struct {
	nodeTimeoutSet, windowSet bool
	broken                    sabotage.Rules
	scripts                   *kind.Scripts
}

func init() {
	sabotage.Register(func(r sabotage.Rules) any {
		return option(func(c *config) { c.rules.broken = r })
	})
}
