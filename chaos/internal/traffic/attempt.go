package traffic

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/register"
)

// lookAtUntil is the interval at which a holder checks whether its lock was extended.
const lookAtUntil = 5 * time.Millisecond

// An attempt is one acquisition and the hold that follows it.
type attempt struct {
	*worker
	try
	op    int
	begin time.Time
	lock  locker.Lock
	until time.Duration // the last deadline that is in the history
	lost  chan struct{} // closed when a loss is in the history
	token string        // "" if the worker does not ask for it

	mu   sync.Mutex
	mode string // what it is by now: a writer may have become a reader
}

func newAttempt(w *worker, t try) *attempt {
	a := &attempt{worker: w, try: t, op: int(w.ops.Add(1)), mode: t.Mode, begin: time.Now(), lost: make(chan struct{})}
	a.Names = slices.Sorted(slices.Values(t.Names))
	return a
}

func (a *attempt) acquired(l locker.Lock) {
	now := a.client.clock.Now() // before anything else takes time
	a.lock, a.until = l, a.real(l.Until())
	if !a.anonymous {
		a.token = l.Token()
	}
	a.log(history.Event{
		Kind: history.Acquired, T: now, TTL: a.TTL, Token: a.token, Fence: l.Fence(), Until: a.until,
		Votes: a.votes(),
	})
}

// onLoss is called when the lock's context ends. It writes the loss to the history at once, whatever the holder is
// doing.
func (a *attempt) onLoss() {
	a.log(history.Event{Kind: history.Lost, Token: a.token, Err: text(context.Cause(a.lock.Context()))})
	close(a.lost)
}

// section is the critical section: read the register, hold, check the lock once more, write the register.
func (a *attempt) section(ctx context.Context) {
	was := a.read()
	a.client.crashPoint.killAt(Holding)
	inside, leave := context.WithCancel(ctx)
	defer leave()
	nested := make(chan struct{})
	go func() {
		defer close(nested)
		if a.depth > 0 {
			a.worker.cycle(inside, a.inner())
		}
	}()
	rest := a.hold
	if a.downgrade {
		rest /= 2
	}
	a.stay(ctx, rest, nested)
	leave()
	<-nested

	if !a.Reads() && a.mayGoOn() {
		a.client.crashPoint.freezeAt(FrozenHolding)
		a.write(was)
	}
	if a.downgrade && a.mayGoOn() {
		a.step(ctx)
		a.stay(ctx, rest, nested)
	}
	if a.Reads() && a.mayGoOn() {
		a.read() // the value must not have changed meanwhile
	}
}

// inner makes a nested hold. Only the outermost hold uses the register.
func (a *attempt) inner() try {
	t := a.try
	t.depth--
	t.hold /= 2
	t.Try, t.register = false, ""
	return t
}

// mayGoOn checks the lock as late as possible before an effect. It returns true for a careless holder.
func (a *attempt) mayGoOn() bool { return a.careless || a.lock.Err() == nil }

// stay holds for d and until nested holds have ended, or until ctx ends or the lock is lost. It writes every new
// deadline to the history: after an extension, and after its clock changed its rate.
func (a *attempt) stay(ctx context.Context, d time.Duration, nested <-chan struct{}) {
	end := time.NewTimer(d)
	defer end.Stop()
	look := time.NewTicker(lookAtUntil)
	defer look.Stop()
	gone := a.lost
	if a.careless {
		gone = nil
	}
	for over := false; !over || nested != nil; {
		select {
		case <-gone:
			return
		case <-ctx.Done():
			return
		case <-look.C:
			if a.real(a.lock.Until()) != a.until {
				a.extended(nil)
			}
		case <-end.C:
			over = true
		case <-nested:
			nested = nil
		}
	}
}

// step makes a writer a reader. Whatever Downgrade returns, it is no more than that from the call on.
func (a *attempt) step(ctx context.Context) {
	a.mu.Lock()
	a.mode = kinds.Reader
	a.mu.Unlock()
	a.log(history.Event{Kind: history.Downgraded, Token: a.token})
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTimeout)
	defer cancel()
	err := a.lock.Downgrade(call)
	if a.lock.Err() == nil { // otherwise the holder learns of the loss
		a.extended(err)
	}
}

func (a *attempt) extended(err error) {
	a.until = a.real(a.lock.Until())
	a.log(history.Event{Kind: history.Extended, Token: a.token, Until: a.until, Err: text(err)})
}

// real converts a time of the lock's clock to the clock of the history. For a future time it assumes the present rate.
func (a *attempt) real(t time.Time) time.Duration { return a.client.clock.Of(a.client.drift.right(t)) }

// question returns the acquisition as a register needs it.
func (a *attempt) question() register.Question {
	c := a.client.config
	return register.Question{
		Name: a.Name(), Mode: a.is(), Fence: a.lock.Fence(), Client: c.Client, Life: c.Life, Worker: a.id, Op: a.op,
	}
}

func (a *attempt) read() int64 {
	if a.register == "" {
		return 0
	}
	value, err := a.client.registers[a.register].Read(a.question())
	a.broken(err)
	return value
}

func (a *attempt) write(was int64) {
	if a.register == "" {
		return
	}
	q := a.question()
	q.From, q.Value = was, was+1
	err := a.client.registers[a.register].Write(q)
	if !errors.Is(err, register.ErrRejected) { // the register has it in its history
		a.broken(err)
	}
}

// broken writes to the history that the harness itself failed.
func (a *attempt) broken(err error) {
	if err != nil {
		a.log(history.Event{Kind: history.Broken, Err: err.Error()})
	}
}

// votes returns the masters' answers to the acquisition.
func (a *attempt) votes() []history.Vote { return a.client.votes.Since(a.locks(), a.begin) }

// locks returns the name of the lock: all its names joined.
func (a *attempt) locks() string { return strings.Join(a.Names, ",") }

// is what kind of lock it is by now.
func (a *attempt) is() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.mode
}

func (a *attempt) log(e history.Event) {
	c := a.client.config
	e.Client, e.Life, e.Worker, e.Op = c.Client, c.Life, a.id, a.op
	e.Name, e.Mode, e.Owner, e.Phase = a.locks(), a.is(), a.Owner, a.phase
	if len(a.Names) > 1 {
		e.Names = a.Names
	}
	a.client.history.Write(e)
}
