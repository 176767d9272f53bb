package redlock

import (
	"fmt"
	"time"

	"github.com/redlock-go/redlock/node"
)

// obstacle is who is in the way of a claim on one master.
type obstacle struct {
	kind string        // "" if unknown
	name int           // which of the names
	left time.Duration // negative: for ever
	// intent: the look left the waiter's intent.
	intent bool
	// token is whose it is, as look tells: of a writer that only waits, and of what acquire met, it is "".
	token string
}

// lock tells one lock from another: readers hold one together, and so do the holds of one owner.
func (o obstacle) lock() string {
	switch {
	case o.kind == kindReader:
		return kindReader
	case o.kind == kindReentrant && ownerOf(o.token) != "":
		return kindReentrant + ownerOf(o.token)
	default:
		return o.kind + o.token
	}
}

// readClaim reads what acquire and look return: a number for a grant, {1, number} for one with the owner's own fencing
// token, {0, kind, milliseconds left, which name, token, intent} for a denial, of which the last three may be missing.
func readClaim(reply any) node.Vote {
	fields, ok := reply.([]any)
	if !ok {
		return node.ReadNumber(reply)
	}
	var numbers [4]int64
	for i := range min(len(fields), len(numbers)) {
		numbers[i], _ = fields[i].(int64)
	}
	switch {
	case len(fields) == 2 && numbers[0] == 1 && numbers[1] > 0:
		return node.Vote{Verdict: node.Granted, Number: numbers[1], Owned: true}
	case len(fields) >= 3 && numbers[0] == 0:
		o := obstacle{left: time.Duration(numbers[2]) * time.Millisecond, name: max(0, int(numbers[3])-1)}
		o.kind, _ = fields[1].(string)
		if len(fields) > 4 {
			o.token, _ = fields[4].(string)
		}
		if len(fields) > 5 {
			o.intent = fields[5] == int64(1)
		}
		return node.Vote{Verdict: node.Denied, Wait: max(0, o.left), Data: o}
	default:
		return node.Vote{Err: fmt.Errorf("the reply %v is not what the script returns", reply)}
	}
}
