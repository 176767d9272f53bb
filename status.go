package redlock

import "time"

// Holding is what the masters know about one name.
type Holding struct {
	// Name is the lock's name.
	Name string `json:"name"`
	// Kind is "mutex"; "" if no majority knows of a holder.
	Kind string `json:"kind,omitempty"`
	// Holders are those with a majority of the masters behind them; empty if the lock is free, or undecided.
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
	// Token is the holder's token there; "" if the name is free there, or Err is set.
	Token string `json:"token,omitempty"`
	// Left is how long the key lives on; negative for ever.
	Left time.Duration `json:"left_ns,omitempty"`
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
