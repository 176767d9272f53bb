package redlock

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/redlock-go/redlock/node"
)

// What a master replies is checked where it is read: a master, or what pretends to be one, that replies nonsense has failed,
// and its nonsense goes no further.

// malformed is the vote of a reply that the script cannot return. The script may have been executed, so the vote is
// [node.Unknown], and what it may have granted is released.
func malformed(reply any, script string) node.Vote {
	return node.Vote{Err: fmt.Errorf("the reply %.100q is not what %s returns", fmt.Sprint(reply), script)}
}

// isFence reports whether n can be a fencing token, or 0 for none. A script's numbers are exact below 2^53.
func isFence(n int64) bool { return n >= 0 && n < 1<<53 }

// readKind reads the kind of a lock, or the type of a foreign key, which modules may name freely.
func readKind(field any) (kind string, ok bool) {
	const longest = 64
	kind, ok = field.(string)
	ok = ok && kind != "" && len(kind) <= longest && !strings.ContainsFunc(kind, func(r rune) bool { return r <= ' ' || r > '~' })
	return kind, ok
}

// readLeft reads how many milliseconds a key lives on; -1, for a key without an expiry, gives a negative duration. What is
// longer than a duration can be is the longest.
func readLeft(field any) (left time.Duration, ok bool) {
	n, ok := field.(int64)
	if n == -1 {
		return -time.Millisecond, ok
	}
	n = min(n, math.MaxInt64/int64(time.Millisecond))
	return time.Duration(n) * time.Millisecond, ok && n >= 0
}
