package quorum

import "github.com/redlock-go/redlock/node"

// Ops are the operations of one lock, for one token: a kind of lock is such a set. Each must be safe to run on a
// node at any time, in any order after the acquire: extend, raise and release look at the token before they touch a key,
// and extend puts a missing key back and says so with a healed vote.
type Ops interface {
	// Acquire places the token. With fencing, a grant's Number is the node's fencing token.
	Acquire() *node.Op
	// Raise lifts the node's fencing token to fence. Granted: it is exactly that now, and the token is there.
	Raise(fence int64) *node.Op
	// Extend gives the token a further TTL, and the fencing token, unless it is 0, with it.
	Extend(fence int64) *node.Op
	// Release takes the token away. A grant's Number is one more than those whom the node has told of it. held says that the lock
	// was held, so that those who wait for it are to be told; what a failed acquire left behind goes silently, or contenders
	// would wake each other for ever.
	Release(held bool) *node.Op
}
