package kind

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// A reply is checked where it is read. A master that replies nonsense has failed, and its reply is not used.

// malformed returns the vote of a list that the script cannot return, or that another program's key has caused. The
// script may have been executed, so the vote is [wire.Unknown], and what it may have granted is released.
func malformed(reply any, script string) wire.Vote {
	return wire.Vote{Err: fmt.Errorf("the reply %.100q is not what %s returns", fmt.Sprint(reply), script)}
}

// readKind reads the kind of a lock, or the type of a foreign key, which modules may name freely.
func readKind(field any) (kind string, ok bool) {
	const longest = 64
	kind, ok = field.(string)
	unprintable := func(r rune) bool { return r <= ' ' || r > '~' }
	return kind, ok && kind != "" && len(kind) <= longest && !strings.ContainsFunc(kind, unprintable)
}

// readTTL reads a TTL in milliseconds. For -1, a key without a TTL, it returns a negative duration. A TTL above the
// longest duration becomes the longest duration.
func readTTL(field any) (ttl time.Duration, ok bool) {
	n, ok := field.(int64)
	if n == -1 {
		return -time.Millisecond, ok
	}
	n = min(n, math.MaxInt64/int64(time.Millisecond))
	return time.Duration(n) * time.Millisecond, ok && n >= 0
}

func readSlotCount(field any) (n int, ok bool) {
	count, _ := field.(int64)
	return int(count), count >= 1 && count <= MaxSlots
}

// readPermitToken reads the token of a permit as inspect returns it: 'slots:slot:token'.
func readPermitToken(field string) (slots, slot int, token string, ok bool) {
	n, rest, _ := strings.Cut(field, ":")
	i, token, both := strings.Cut(rest, ":")
	slots, _ = strconv.Atoi(n) // 0 if it is no number
	slot, _ = strconv.Atoi(i)
	return slots, slot, token, both && slots <= MaxSlots && slot >= 1 && slot <= slots
}
