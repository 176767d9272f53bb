package traffic

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
)

// An Attempt is one acquisition and the hold that follows it.
type Attempt struct {
	*Worker
	try
	op            int
	Lock          kinds.Lock    // nil until it was acquired
	from          time.Duration // when the hold began
	until         time.Duration // the last deadline that is in the history
	deadline      time.Time     // the same on the lock's clock
	stopLossWatch func() bool   // ends the wait for a loss
	lost          chan struct{} // closed when the loss is in the history
	token         string
}

// Take asks for a lock until ctx ends, and begins its hold. It returns nil if the worker does not get the lock.
func (w *Worker) Take(ctx context.Context, r kinds.Request) *Attempt {
	return w.take(ctx, try{Request: r})
}

func (w *Worker) take(ctx context.Context, t try) *Attempt {
	a := &Attempt{Worker: w, try: t, op: int(w.ops.Add(1)), lost: make(chan struct{})}
	a.Names = slices.Sorted(slices.Values(t.Names))
	a.log(history.Event{
		Kind: history.Invoked, TTL: t.TTL, MinHold: t.MinHold, Keepalive: t.Keepalive, Fencing: t.Fencing, Try: t.Try,
	})
	a.life.At(Acquiring)
	l, err := a.life.Locker.Lock(ctx, t.Request)
	a.life.Awake()
	if err != nil {
		a.log(history.Event{Kind: history.Refused, Err: text(err)})
		return nil
	}
	now := a.life.Now() // before anything else takes time
	a.Lock, a.from = l, now
	a.noteUntil()
	a.token = l.Token()
	a.log(history.Event{
		Kind: history.Acquired, T: now, TTL: a.TTL, MinHold: a.MinHold, Keepalive: a.Keepalive, Token: a.token,
		Fence: l.Fence(), Until: a.until,
	})
	a.stopLossWatch = context.AfterFunc(l.Context(), a.onLoss)
	return a
}

// Over writes the end of the belief to the history. Call it before Unlock.
func (a *Attempt) Over() {
	if !a.stopLossWatch() {
		<-a.lost // onLoss is writing the loss
	}
	a.learn()
	a.log(history.Event{Kind: history.ReleaseCalled, Token: a.token})
}

// Unlock unlocks the lock. The hold must be over.
func (a *Attempt) Unlock(ctx context.Context) {
	a.life.At(Releasing)
	err := a.Lock.Unlock(ctx)
	a.log(history.Event{Kind: history.Released, Token: a.token, Err: text(err)})
}

// onLoss is called when the lock's context ends. It writes the loss to the history at once, whatever the holder is
// doing.
func (a *Attempt) onLoss() {
	a.log(history.Event{Kind: history.Lost, Token: a.token, Err: text(context.Cause(a.Lock.Context()))})
	close(a.lost)
}

// section is the critical section: read the register, hold, check the lock once more, write the register.
func (a *Attempt) section(ctx context.Context) {
	was := a.read()
	a.life.At(Holding)
	inside, leave := context.WithCancel(ctx)
	defer leave()
	nested := make(chan struct{})
	go func() {
		defer close(nested)
		if a.depth > 0 {
			a.cycle(inside, a.inner())
		}
	}()
	a.stay(ctx, a.hold, nested)
	leave()
	<-nested

	if !a.Reads() && a.mayGoOn() {
		a.life.At(FrozenHolding)
		a.write(was)
	}
	if a.Reads() && a.mayGoOn() {
		a.read() // the value must not have changed meanwhile
	}
}

// inner makes a nested hold. Only the outermost hold uses the register.
func (a *Attempt) inner() try {
	t := a.try
	t.depth--
	t.hold /= 2
	t.Try, t.register = false, ""
	return t
}

// mayGoOn checks the lock as late as possible before an effect. It returns true for a careless holder.
func (a *Attempt) mayGoOn() bool { return a.careless || a.Lock.Err() == nil }

// stay holds for d and until nested holds have ended, or until ctx ends or the lock is lost. Meanwhile it calls learn
// every Look, unless that is 0.
func (a *Attempt) stay(ctx context.Context, d time.Duration, nested <-chan struct{}) {
	end := time.NewTimer(d)
	defer end.Stop()
	defer a.life.Awake()
	var look <-chan time.Time
	if a.life.Look > 0 {
		tick := time.NewTicker(a.life.Look)
		defer tick.Stop()
		look = tick.C
	}
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
		case <-look:
			a.learn()
		case <-end.C:
			over = true
		case <-nested:
			nested = nil
		}
	}
}

// learn reads the deadline and, if its time on the history's clock has changed, writes it to the history. That time
// also changes if the lock's clock changes its rate while the deadline stays the same.
//
// The event has the present as its time, because the holder relied on the old deadline until now. An exception is a
// holder that reads its deadline only at the end of the hold and finds that it has not become earlier: this holder may
// have relied on it since the hold began, so the event has that time.
func (a *Attempt) learn() {
	deadline := a.Lock.Until()
	if a.life.TrueTime(deadline) == a.until {
		return
	}
	at := time.Duration(0) // the present
	if a.life.Look == 0 && !deadline.Before(a.deadline) {
		at = a.from
	}
	a.noteUntil()
	a.log(history.Event{Kind: history.Extended, T: at, Token: a.token, Until: a.until})
}

// noteUntil sets a.deadline and a.until to the lock's deadline, which the caller then writes to the history.
func (a *Attempt) noteUntil() {
	a.deadline = a.Lock.Until()
	a.until = a.life.TrueTime(a.deadline)
}

// access returns the acquisition as a register needs it.
func (a *Attempt) access() history.Event {
	return history.Event{
		Name: a.Names[0], Mode: a.Mode, Fence: a.Lock.Fence(),
		Client: a.life.Client, Life: a.life.Config.Life, Worker: a.id, Op: a.op,
	}
}

func (a *Attempt) read() (value int64) {
	if a.register != "" {
		a.broken(a.life.Registers[a.register].Read(a.access(), &value))
	}
	return value
}

func (a *Attempt) write(was int64) {
	if a.register == "" {
		return
	}
	e := a.access()
	e.From, e.Value = was, was+1
	a.broken(a.life.Registers[a.register].Write(e, new(string))) // the register has a refusal in its history
}

// broken writes to the history that the harness itself failed.
func (a *Attempt) broken(err error) {
	if err != nil {
		a.log(history.Event{Kind: history.Broken, Err: err.Error()})
	}
}

func (a *Attempt) log(e history.Event) {
	e.Client, e.Life, e.Worker, e.Op = a.life.Client, a.life.Config.Life, a.id, a.op
	e.Name, e.Mode, e.Owner, e.Slots, e.Phase = strings.Join(a.Names, ","), a.Mode, a.Owner, a.Slots, a.phase
	if len(a.Names) > 1 {
		e.Names = a.Names
	}
	a.life.Write(e)
}
