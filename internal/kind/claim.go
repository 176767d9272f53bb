package kind

import (
	"time"

	"github.com/redlock-go/redlock/quorum"
)

// Claim is a target with the token that is to hold it. Its methods make the operations that the masters execute. A
// claim is immutable.
type Claim struct {
	Target  Target
	Token   string
	Intent  string // the token of a waiter's intent; "": it left none
	TTL     time.Duration
	Fencing bool
	Hint    int64 // the smallest fencing token to give
	Scripts *Scripts
}

// Ops returns the claim's operations for the quorum.
func (c *Claim) Ops() quorum.Ops { return c.layout() }

// layout returns the claim's operations on the keys of its kind.
func (c *Claim) layout() layout {
	if c.Target.Kind.Layout == PlainKey {
		return plainKey{c}
	}
	return entries{c}
}

// Downgraded returns the claim of the weaker kind that the lock becomes. [Kind.Downgraded] must not be nil.
func (c *Claim) Downgraded() *Claim {
	weaker := *c
	weaker.Target.Kind = c.Target.Kind.Downgraded
	return &weaker
}
