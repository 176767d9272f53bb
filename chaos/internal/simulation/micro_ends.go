package simulation

import (
	"context"
	"strconv"
	"time"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/internal/simnet"
)

// The steps below end micro-scenarios: what a suspension, little time, Close, and another order at each master do to
// locks.

// suspended checks that a lock is over in true time although its holder's machine slept, for longer than the lock was
// valid or not. The holder learns of a loss within a second of the resumption, and before that if it asks.
func (w *worker) suspended() {
	exact := time.Millisecond + w.client.TTL/100 // what the clocks gain
	for i := range 4 {
		h := w.free(locker.Request{Mode: kinds.Mutex, Names: w.schedule.Names[:1]})
		until := h.until()
		h.attempt.Over() // for the checkers: a process that sleeps cannot notice its loss in time
		slept := within(w.rng, w.client.TTL)
		if i%2 == 0 {
			slept += until + exact - w.now()
		}
		w.note(w.client.Name, "suspended for %v", slept)
		w.host.Suspend()
		time.Sleep(slept)
		w.host.Resume()
		resumed := w.now()
		if later := h.until(); later > until+exact {
			w.problem(check.ByLossNotified, w.who, "its machine slept for %v, and %q, which ended at %v, is held until %v",
				slept, h.want.Names, stamp(until), stamp(later))
		}
		if i == 0 && h.lock.Err() == nil {
			w.problem(check.ByLossNotified, w.who, "its machine slept through the end of %q, and it has not lost it",
				h.want.Names)
		}
		w.pause(h.lock.Context(), 2*w.client.TTL)
		if lost := w.now(); lost > max(until, resumed+time.Second)+exact {
			w.problem(check.ByLossNotified, w.who, "its machine slept until %v, %q ended at %v, and it was told at %v",
				stamp(resumed), h.want.Names, stamp(until), stamp(lost))
		}
		_ = h.lock.Unlock(context.Background())
		time.Sleep(time.Second)
	}
}

// closedEarly checks that a Locker that is closed leaves the names of its locks taken for the rest of their minimum
// hold, and no longer.
func (e *env) closedEarly(w, other *worker) {
	for _, kind := range []string{kinds.Mutex, kinds.Writer} {
		closed := w.another()
		want := e.want(kind)
		want.TTL, want.MinHold = w.client.TTL, w.client.TTL/2
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		_, err := closed.Lock(ctx, want)
		cancel()
		from := e.now()
		if closing := closed.Close(); err != nil || closing != nil {
			e.problem(check.ByLiveness, w.who, "acquires a free name: %v, and closes its locker: %v", err, closing)
			return
		}
		rest := want.MinHold
		// The lock adds the drift to the minimum hold, so that masters with fast clocks do not end it early.
		drift := 2*time.Millisecond + want.MinHold/100
		want.MinHold = 0
		next := other.must(want, rest+5*time.Second, "the minimum hold is over")
		// Slow masters take another drift. No message is published at the end, so the waiter may sleep for RetryMax.
		late := from + rest + 2*drift + other.client.RetryMax + 3*other.client.Timeout
		if next.from < from+rest || next.from > late {
			e.problem(check.ByMinHold, other.who,
				"got %q at %v, which the holder that closed its locker had to keep from %v to %v",
				want.Names, stamp(next.from), stamp(from), stamp(from+rest))
		}
		next.sure()
	}
}

// leftAsPassed checks that a lock is free although its holder passed its lease to a caller of the same Locker that gave
// up at the same instant.
func (e *env) leftAsPassed(w, other *worker) {
	for i := range 12 {
		want, holders := e.want(kinds.Mutex), 1
		if i%2 == 1 {
			want = locker.Request{Mode: kinds.Semaphore, Names: []string{"pool"}, Slots: slots}
			holders = slots
		}
		want.TTL = w.client.TTL
		var all []*holding
		for range holders {
			all = append(all, w.free(want))
		}
		ctx, leave := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() {
			defer close(over)
			if l, err := w.locker.Lock(ctx, want); err == nil {
				_ = l.Unlock(context.Background())
			}
		}()
		time.Sleep(within(e.rng, 20*time.Millisecond)) // soon enough for a hand-over
		leave()
		all[0].sure()
		<-over
		other.must(want, 2*time.Second, "it was unlocked, and the caller that was to have it next has given up").sure()
		for _, h := range all[1:] {
			h.sure()
		}
	}
}

// deliveredLate checks that a release is repeated while the acquire that it undoes may still arrive over a connection
// that has ended: a proxy delivers it after the path was cut, when the release has been confirmed over another
// connection.
func (e *env) deliveredLate(w *worker) {
	for range 6 {
		m := e.some(1)[0]
		path := w.host.To(m.Index())
		path.Proxy()
		m.Reset()
		w.free(locker.Request{Mode: kinds.Mutex, Names: []string{"connect"}}).sure()
		time.Sleep(w.client.Timeout)
		path.BlackHole()
		h := w.free(e.want(kinds.Mutex))
		time.Sleep(within(e.rng, w.client.Timeout))
		h.sure()
		silent := 500*time.Millisecond + within(e.rng, 500*time.Millisecond)
		time.Sleep(silent)
		path.Heal()
		// It arrives late by a second more than the silence at most. It is undone within the same time, or half a second.
		time.Sleep(2*(silent+w.client.Timeout+time.Second) + 2*w.client.Timeout)
		for _, key := range e.left() {
			e.problem(check.ByResidue, w.who, "an acquire came late, and its release was not repeated: there is %s", key)
		}
	}
}

// raisedTwice checks that a majority has the fencing token of a lock although the first number that was written back to
// the masters was too small. The clients' clocks are behind all counters.
func (w *worker) raisedTwice() {
	want := locker.Request{Mode: kinds.Mutex, Names: []string{"raised"}, Fencing: true}
	take := func() *holding { return w.must(want, w.schedule.Window()+2*time.Second, "it is free") }
	take().sure() // the masters then have the scripts
	time.Sleep(w.client.Timeout)
	half := w.schedule.Masters / 2
	base := time.Now().Add(5 * time.Hour).UnixMicro()
	for i, m := range w.world.Masters() {
		link, count := w.host.To(i), base
		switch {
		case i == half: // the last of the majority that grants
			count += 10
			link.DelayWay(simnet.FromMaster, 10*time.Millisecond, 0)
		case i > half: // they answer when the majority has granted, and have counted further
			count += 1000
			link.DelayWay(simnet.FromMaster, 30*time.Millisecond, 0)
		default: // they grant, and do not take the number that is written back
			time.AfterFunc(5*time.Millisecond, link.BlackHole)
		}
		m.Set(counters+"{raised}", strconv.FormatInt(count, 10), time.Hour)
	}
	h := take()
	for i := range w.world.Masters() {
		w.host.To(i).Heal()
	}
	h.sure()
	time.Sleep(w.client.Timeout)
	for i := half + 1; i < w.schedule.Masters; i++ {
		w.host.To(i).BlackHole()
	}
	take().sure() // with a larger token, or the checker notices
	for i := half + 1; i < w.schedule.Masters; i++ {
		w.host.To(i).Heal()
	}
}

// permitsAtOnce checks that two permits have different fencing tokens, although two clients ask for them at the same
// time and reach each master in another order. Both clients' clocks are behind the counters, so the tokens follow each
// other closely.
func (e *env) permitsAtOnce(ahead, next *worker) {
	want := locker.Request{Mode: kinds.Semaphore, Names: []string{"pool"}, Slots: slots, Fencing: true}
	ahead.must(want, e.schedule.Window()+2*time.Second, "its slots are free").sure()
	second := next.another()
	each(e.world.Masters(), func(m *simnet.Master) { m.Delay(time.Millisecond, 10*time.Millisecond) })
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for range 12 {
		var locks [2]locker.Lock
		var errs [2]error
		together(
			func() { locks[0], errs[0] = next.locker.Lock(ctx, want) },
			func() { locks[1], errs[1] = second.Lock(ctx, want) },
		)
		if errs[0] == nil && errs[1] == nil && locks[0].Fence() == locks[1].Fence() {
			e.problem(check.ByFencing, next.who, "two permits of %q have the fencing token %d", want.Names, locks[0].Fence())
		}
		for i, l := range locks {
			if errs[i] != nil {
				e.problem(check.ByLiveness, next.who, "cannot acquire a free slot of %q: %v", want.Names, errs[i])
				continue
			}
			_ = l.Unlock(ctx)
		}
	}
	each(e.world.Masters(), func(m *simnet.Master) { m.Link.Heal() })
	if err := second.Close(); err != nil {
		e.problem(ByContract, next.who, "Close: %v", err)
	}
}
