package redlock

import "github.com/redlock-go/redlock/internal/seam"

func init() {
	seam.Register(func(h seam.Hooks) any { return option(func(c *config) { c.hooks = h }) })
}
