package waitqueue

// state is the state of a caller.
type state uint8

const (
	outside  state = iota // it has not joined
	waiting               // it waits for its turn, also after an attempt that failed
	yielding              // it may ask, and lets other processes ask first
	asking                // it asks the masters
	probing               // it watches, and asks the masters who holds the lock
	pausing               // it watches: it waits for a release, or for the back-off, before it asks again
	given                 // it was given the lease of a lock, and has not taken it yet
	gone                  // it has the lock or an error, or has given up
	states                // their number
)

// successors has the states that may follow each state.
var successors = [states][]state{
	outside:  {waiting, gone},
	waiting:  {asking, yielding, probing, given, gone},
	yielding: {asking, given, gone},
	asking:   {waiting, gone},
	probing:  {pausing, gone},
	pausing:  {asking, given, gone},
	given:    {gone},
}

func (s state) String() string {
	return [states]string{"outside", "waiting", "yielding", "asking", "probing", "pausing", "given", "gone"}[s]
}
