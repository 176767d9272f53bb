package redlock

import (
	"context"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// probeInterval is the longest time between two probes of a waiter that left its intent.
const probeInterval = time.Second

// intentLife is the TTL of the intent: until the waiter probes again, plus a margin for slow masters. It bounds how
// long a waiter that died keeps readers out.
func (a *attempts) intentLife() time.Duration {
	return min(a.cfg.retryMax, probeInterval) + 3*a.cfg.timeout()
}

// probe asks the masters which lock blocks the call. With first, it returns as soon as a majority grants or a majority
// denies. The first probe of an exclusive waiter creates its intent. If the masters refuse the intent, because the user
// has no right to the keys for it, the waiter probes without an intent from then on.
func (a *attempts) probe(ctx context.Context, first bool) (kind.ProbeResult, error) {
	if a.mayIntend && a.intent == "" {
		a.intent = kind.NewToken(a.cfg.owner)
		a.residue = a.locker.quorum.NewResidue(a.target.Kind.LeftIntent)
	}
	op := a.claim(kind.NewToken(a.owner())).Probe(a.intentLife())
	answers, err := a.locker.quorum.Probe(ctx, op, a.cfg.timeout(), first, a.residue, a.listener())
	if err != nil && a.intent != "" && !a.target.Kind.NeedsSiblingKeys() && refusals(answers) > 0 {
		a.withdraw(nil)
		a.mayIntend = false
		return a.probe(ctx, first)
	}
	return kind.NewProbeResult(answers), err
}

// refusals counts the masters that refused an operation for a reason that only an operator can fix.
func refusals(answers []quorum.Answer) (n int) {
	for _, an := range answers {
		if node.Permanent(an.Vote.Err) {
			n++
		}
	}
	return n
}

// withdraw removes the waiter's intent wherever its probes may have left it. lock is the lock that the waiter acquired;
// nil if it gave up, in which case the readers that the intent kept out get a release message.
func (a *attempts) withdraw(lock *Lock) {
	if a.residue == nil {
		return
	}
	var lease *quorum.Lease
	if lock != nil && a.target.Kind.AcquireRemovesIntent() {
		lease = lock.lease // its acquisition removes the intent
	}
	op := a.claim("").Withdraw(lock == nil)
	a.locker.quorum.Withdraw(op, a.cfg.timeout(), a.intentLife(), a.residue, lease)
	a.intent, a.residue = "", nil
}
