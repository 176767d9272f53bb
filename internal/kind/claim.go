package kind

import (
	"time"

	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// Claim is a target with the token that is to hold it. Its methods make the operations that the masters execute. A
// claim is immutable.
type Claim struct {
	Target  Target
	Token   string
	Slot    int    // the slot of a semaphore to take, from 1; 0 for every other kind
	Intent  string // the token of a waiter's intent; "": it left none
	Scripts *Scripts
	Origin  *wire.Origin // the call that the operations belong to; nil: unknown
}

func (c *Claim) intentKeys() []string {
	keys := make([]string, len(c.Target.Names))
	for i, name := range c.Target.Names {
		keys[i] = IntentKey(name)
	}
	return keys
}

// fenceTTL returns the TTL of a lease's counters of fencing tokens, in milliseconds.
func fenceTTL(t *quorum.Terms) int64 { return (t.TTL + fenceLife).Milliseconds() }

// hintArg returns the hint, the smallest fencing token to give, as a script's argument; "" without fencing.
func hintArg(t *quorum.Terms, hint time.Time) any {
	if t.Fencing {
		return hint.UnixMicro()
	}
	return ""
}
