package kind

import "github.com/redlock-go/redlock/internal/wire"

// The readers of replies.
func ReadClaim(reply any, names int) wire.Vote   { return claimReader(names)(reply) }
func ReadRaise(reply any, fence int64) wire.Vote { return raiseReader(fence)(reply) }

func ReadPermit(reply any, slots int) wire.Vote {
	return permits{&Claim{Target: Target{Kind: Semaphore, Slots: slots}}}.readPermit(reply)
}

// AcquireScript returns the text of the script that acquires a lock of a kind with a fencing token.
func (k *Kind) AcquireScript() string {
	if k.Layout == PlainKey {
		return source("mutex_fenced common fence mutex_acquire")
	}
	return source("entry_free common fence entries kinds entry_common entry_fence entry_acquire")
}
