package redlock

import "time"

// Holding is what the masters know about one name.
type Holding struct {
	// Name is the lock's name.
	Name string `json:"name"`
	// Kind is "mutex", "reader", "writer" or "reentrant", or the type of a key that is none of ours; "" if no majority
	// knows of a holder.
	Kind string `json:"kind,omitempty"`
	// Depth is how many holds the owner of a reentrant lock has; 1 for every other kind, 0 if nobody holds it.
	Depth int `json:"depth"`
	// Fence is the fencing token that a majority of the masters agree on; 0 if there is none.
	Fence uint64 `json:"fence,omitempty"`
	// Holders are those with a majority of the masters behind them, by token: all readers, all holds of a reentrant lock's
	// owner; empty if the lock is free, or undecided.
	Holders []Holder `json:"holders"`
	// Nodes holds one row a master, in the order they were given.
	Nodes []NodeHolding `json:"nodes"`
}

// Holder is somebody who holds a lock on a majority of the masters.
type Holder struct {
	// Token is what the masters hold: owner:random for a lock of this package, anything for a foreign client's.
	Token string `json:"token"`
	// Votes is how many masters hold the token.
	Votes int `json:"votes"`
	// Left is how long a majority goes on to hold it unless it is extended; negative for ever (a foreign client's key
	// without a TTL).
	Left time.Duration `json:"left_ns"`
}

// NodeHolding is what one master knows about one name.
type NodeHolding struct {
	// Node is the master's address.
	Node string `json:"node"`
	// Kind is the kind of lock that holds the name there; "" if it is free, or Err is set.
	Kind string `json:"kind,omitempty"`
	// Token is the holder's token there, of several that of the one that stays longest; "" if the name is free there, or
	// Err is set.
	Token string `json:"token,omitempty"`
	// Left is how long the key lives on; negative for ever.
	Left time.Duration `json:"left_ns,omitempty"`
	// Fence is the master's count of fencing tokens for the name; 0 if it has none.
	Fence uint64 `json:"fence,omitempty"`
	// Holders are all that hold the name there.
	Holders []Holder `json:"holders,omitempty"`
	// Err is set if the master did not answer, a *NodeError.
	Err error `json:"-"`
}

// NodeStatus is the state of one master.
type NodeStatus struct {
	// Node is the master's address.
	Node string
	// Reachable: it answered in time.
	Reachable bool
	// RoundTrip is how long that took.
	RoundTrip time.Duration
	// Role, Version, RunID and Uptime are what the server says of itself.
	Role, Version, RunID string
	Uptime               time.Duration
	// MayVote: a grant of this master counts now.
	MayVote bool
	// VoteIn is how long until it may vote, while its restart window runs.
	VoteIn time.Duration
	// Err says why it is not reachable or may not vote, a *NodeError; nil if MayVote.
	Err error
}
