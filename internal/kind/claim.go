package kind

import (
	"time"
)

// Claim is a target with the token that is to hold it. Its methods make the operations that the masters execute. A
// claim is immutable.
type Claim struct {
	Target  Target
	Token   string
	TTL     time.Duration
	Fencing bool   // the masters count a fencing token
	Slot    int    // the slot of a semaphore to take, from 1; 0 for every other kind
	Intent  string // the token of a waiter's intent; "": it left none
	Scripts *Scripts
}

func (c *Claim) intentKeys() []string {
	keys := make([]string, len(c.Target.Names))
	for i, name := range c.Target.Names {
		keys[i] = IntentKey(name)
	}
	return keys
}

// fenceTTL returns the TTL of the claim's counters of fencing tokens, in milliseconds.
func (c *Claim) fenceTTL() int64 { return (c.TTL + fenceLife).Milliseconds() }

// hintArg returns the hint, the smallest fencing token to give, as a script's argument; "" without fencing.
func (c *Claim) hintArg(asked time.Time) any {
	if c.Fencing {
		return asked.UnixMicro()
	}
	return ""
}
