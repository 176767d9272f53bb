package redlock

import "github.com/redlock-go/redlock/internal/seam"

// The harnesses of this module get the option that sets Hooks from package seam. No exported function returns it.
func init() {
	seam.Register(func(h seam.Hooks) any { return option(func(c *config) { c.hooks = h }) })
}
