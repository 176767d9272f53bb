package quorum

import (
	"time"

	"github.com/redlock-go/redlock/internal/wire"
)

// Ops are the operations of one lock with one token. A node may execute them late and in any order. Raise, Release and
// Keep change nothing where the token is missing. Extend restores a missing token. A late Extend may therefore undo a
// Release, so the nodes repeat such a Release. The terms are those of the lease.
type Ops interface {
	// Overlaps reports whether other leases of the name may be held meanwhile, as those of a semaphore's slots. Their
	// fencing tokens always differ.
	Overlaps() bool
	// Acquire sets the token. With fencing, the Number of a grant is the node's fencing token, which is at least the
	// hint. hint is the start of the acquire on the wall clock; the node counts it in microseconds since 1970. Without
	// fencing it has no meaning.
	Acquire(t *Terms, hint time.Time) *wire.Op
	// Raise raises the node's fencing token to fence. A grant means that the lock's token is present and that the
	// fencing token is exactly fence, or, if Overlaps, at least fence.
	Raise(t *Terms, fence int64) *wire.Op
	// Extend gives the token, and the fencing token unless it is 0, a further TTL. If the token is missing, Extend
	// restores it and reports this with a healed vote.
	Extend(t *Terms, fence int64) *wire.Op
	// Release deletes the token. On a grant, Number-1 is the number of subscribers that received the release message.
	// announce is false for a silent release, and after a failed acquire that kept no other client out.
	Release(announce bool) *wire.Op
	// Keep replaces the token by one that no lease has, and that expires after rest, and publishes a release message, as
	// Release does. If the node has the other token already, Keep changes nothing and grants.
	Keep(rest time.Duration) *wire.Op
}
