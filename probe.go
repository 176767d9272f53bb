package redlock

import (
	"errors"
	"time"

	"github.com/redlock-go/redlock/internal/contention"
	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// intent is what an exclusive waiter leaves on the masters with its probes, to keep later readers out.
type intent struct {
	allowed bool            // the call can leave one
	token   string          // the same in every probe; "" before the first
	residue *quorum.Residue // where it may have been left; nil: nowhere
}

// probeInterval is the longest pause of a waiter that left its intent.
const probeInterval = time.Second

// probeAndPlan returns when and how to try again after an attempt that failed because of c.reason. If the attempt was
// denied, probeAndPlan probes the masters. A waiter that left its intent probes again before the intent expires.
func (c *call) probeAndPlan() (contention.Plan, error) {
	result := contention.Result{FirstDenied: c.deniedByFirst}
	var found kind.ProbeResult
	if errors.Is(c.reason, ErrHeld) {
		c.waiter.Listen()
		var err error
		found, err = c.probeForHolder()
		if errors.As(err, new(*SlotsError)) {
			return contention.Plan{}, err
		}
		result.Probed = err == nil // a majority answered
		if result.Probed {
			c.locker.endOutage()
		}
		result.Masters = contention.Masters{
			Free:    found.Free,
			Largest: found.MostMasters(),
			Failed:  found.Failed,
			Pending: found.Pending,
			TTLs:    found.TTLs,
		}
	}
	plan := c.backoff.Next(result)
	if plan.Held {
		c.noteHolder(found, plan.Expiry)
	}
	if c.intent.residue != nil && c.intent.residue.LeftAny() {
		plan.Delay = min(plan.Delay, probeInterval)
	}
	return plan, nil
}

// probeForHolder asks the masters which lock each of them holds. Usually the first majority of the answers shows
// whether the lock is free or held. Otherwise probeForHolder waits for all masters. It fails if too few masters
// answered.
func (c *call) probeForHolder() (kind.ProbeResult, error) {
	need := c.locker.quorum.Majority()
	found, err := c.probe(true)
	if err == nil && found.Free < need && found.MostMasters() < need {
		found, err = c.probe(false)
	}
	return found, err
}

// probe asks the masters which lock blocks the call. With early, it returns as soon as a majority grants or a majority
// denies. If too few masters answer and some refuse the intent, probe withdraws it, and the call leaves none from then
// on. The error is a SlotsError if a majority has another number of slots.
func (c *call) probe(early bool) (kind.ProbeResult, error) {
	c.ensureIntent()
	op := c.claim(kind.NewToken(c.owner()), 0).Probe(c.cfg.intentLife())
	answers, err := c.locker.quorum.Probe(c.ctx, op, c.cfg.terms.Timeout, early, c.intent.residue, c.listener())
	// The user may lack the right to a key that only the intent needs.
	intentHasOwnKey := c.intent.token != "" && !c.target.Kind.NeedsSiblingKeys()
	if err != nil && intentHasOwnKey && refusals(answers) > 0 {
		c.withdraw(nil)
		c.intent.allowed = false // from now on
		return c.probe(early)
	}
	if c.target.Kind.Slotted() {
		free, _, differ := c.slotsIn(votesOf(answers))
		c.likelySlots = free
		if differ != nil {
			err = differ
		}
	}
	return kind.NewProbeResult(answers), err
}

// listener returns the Listener that the queue's waiters share; nil before the first of them was denied.
func (c *call) listener() *quorum.Listener {
	l, _ := c.waiter.Subscription().(*quorum.Listener)
	return l
}

// ensureIntent makes the intent of an exclusive waiter before its first probe.
func (c *call) ensureIntent() {
	if c.intent.allowed && c.intent.token == "" {
		c.intent.token = kind.NewToken(c.owner())
		c.intent.residue = c.locker.quorum.NewResidue(c.target.Kind.LeftIntent)
	}
}

// noteHolder records which lock the call waits for. For a reentrant lock, noteHolder also makes the callers whose
// owners hold the name ask the masters.
func (c *call) noteHolder(found kind.ProbeResult, expiry time.Duration) {
	if c.target.Kind.Nested() {
		c.waiter.OwnersHold(found.Owners())
	}
	held := &HeldError{
		Name: c.target.Names[found.Longest.NameIndex], Kind: Kind(found.Longest.Kind),
		Holder: kind.HolderOf(found.Longest.Token),
	}
	if expiry < contention.Unlimited {
		held.Retry = expiry
	}
	c.reason = held
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

// intentLife returns the TTL of the intent: the longest pause, and three node timeouts for the attempt and the probe
// that follow. It bounds how long a waiter that died keeps readers out.
func (c *config) intentLife() time.Duration {
	return min(c.retryMax, probeInterval) + 3*c.terms.Timeout
}

// withdraw removes the waiter's intent from the masters on which its probes may have left it. lock is the lock that the
// waiter acquired; nil if it has none. In that case withdraw also wakes the readers that the intent kept out.
func (c *call) withdraw(lock *Lock) {
	if c.intent.residue == nil {
		return
	}
	var lease *quorum.Lease
	if lock != nil && c.target.Kind.AcquireRemovesIntent() {
		lease = lock.lease // the masters that granted it have removed the intent, and are not asked
	}
	op := c.claim("", 0).Withdraw(lock == nil)
	c.locker.quorum.Withdraw(op, c.cfg.terms.Timeout, c.cfg.intentLife(), c.intent.residue, lease)
	c.intent.token, c.intent.residue = "", nil
}

// votesOf returns the votes of the answers.
func votesOf(answers []quorum.Answer) []wire.Vote {
	votes := make([]wire.Vote, len(answers))
	for i, an := range answers {
		votes[i] = an.Vote
	}
	return votes
}
