package redlock

import (
	"time"

	"github.com/redlock-go/redlock/node"
)

// obstacle is who is in the way of a claim on one master.
type obstacle struct {
	kind string        // "" if unknown
	name int           // which of the names
	left time.Duration // negative: for ever
	// intent is set if the look left the waiter's intent.
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

// readClaim reads what acquire and look return for so many names: a number for a grant, {1, number} for one with the owner's
// own fencing token, {0, kind, milliseconds left, which name, token, intent} for a denial, of which the
// last three may be missing.
func readClaim(names int) func(reply any) node.Vote {
	if names == 1 {
		return readClaimOfOne
	}
	return func(reply any) node.Vote { return readClaimOf(reply, names) }
}

func readClaimOfOne(reply any) node.Vote { return readClaimOf(reply, 1) }

func readClaimOf(reply any, names int) node.Vote {
	fields, ok := reply.([]any)
	if !ok {
		if v := node.ReadNumber(reply); v.Verdict == node.Granted || v.Err != nil {
			return v
		}
		return malformed(reply, "acquire")
	}
	if len(fields) == 0 {
		return malformed(reply, "acquire")
	}
	switch {
	case fields[0] == int64(1) && len(fields) == 2:
		if n, ok := fields[1].(int64); ok && n > 0 && isFence(n) {
			return node.Vote{Verdict: node.Granted, Number: n, Owned: true}
		}
	case fields[0] == int64(0) && len(fields) >= 3 && len(fields) <= 6:
		if o, ok := readObstacle(fields, names); ok {
			return node.Vote{Verdict: node.Denied, Wait: max(0, o.left), Data: o}
		}
	}
	return malformed(reply, "acquire")
}

// readObstacle reads a denial.
func readObstacle(fields []any, names int) (o obstacle, ok bool) {
	var isLeft bool
	o.kind, ok = readKind(fields[1])
	o.left, isLeft = readLeft(fields[2])
	if !ok || !isLeft {
		return o, false
	}
	if len(fields) > 3 {
		which, ok := fields[3].(int64)
		if !ok || which < 1 || which > int64(names) {
			return o, false
		}
		o.name = int(which) - 1
	}
	if len(fields) > 4 {
		if o.token, ok = fields[4].(string); !ok {
			return o, false
		}
	}
	if len(fields) > 5 {
		o.intent = fields[5] == int64(1)
		return o, o.intent || fields[5] == int64(0)
	}
	return o, true
}
