// Package contention decides when a waiter asks the masters again after an attempt that failed.
package contention

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Backoff decides when a waiter asks the masters again, and whether it then asks the first node before the others. All
// contenders ask the same node first, so that they do not split the vote. A Backoff belongs to one waiter.
type Backoff struct {
	RetryMin, RetryMax time.Duration // the bounds of the back-off
	Majority           int

	// Random returns a random number in [0, n). Nil stands for math/rand/v2.
	Random func(n int64) int64

	failures  int  // number of calls of Next
	splits    int  // number of split votes since a lock was last held
	firstNext bool // parity of the denials by the first master alone, while a majority was free
}

// Result is what a waiter knows after an attempt that failed.
type Result struct {
	Probed      bool // the attempt was denied, and a probe told what Masters has; false: only that the attempt failed
	FirstDenied bool // only the master that was asked first denied; no other was asked
	Masters     Masters
}

// Masters is what the masters report of the lock that a waiter wants.
type Masters struct {
	Free    int // how many masters would grant it
	Largest int // the largest number of masters that hold one and the same lock
	Failed  int // how many masters failed to answer
	Pending int // how many masters have not answered yet
	// TTLs is for how long the masters that deny it will do so. A master without a limit has no element. Next sorts it.
	TTLs []time.Duration
}

// Plan is the next attempt of a waiter.
type Plan struct {
	Delay time.Duration // until the attempt, unless a release is published before
	First bool          // ask one master before the others (after denials by that one alone: every second time)
	// Held reports whether a lock is held. Its hold ends after Expiry if the holder neither extends nor releases it;
	// Expiry is Unlimited if that is not known.
	Held   bool
	Expiry time.Duration
}

// Unlimited is a duration without end.
const Unlimited = time.Duration(1<<63 - 1)

// maxJitter bounds the time over which waiters that wait for the same moment spread their attempts.
const maxJitter = 10 * time.Millisecond

// Next returns the plan after an attempt that failed. The delay is at most the back-off. It is shorter if the result
// shows when the lock can be free.
//
// In two cases there is no holder to wait for:
//
//   - Only the first master denied, and a majority is free. Another contender may be acquiring the lock. If the first
//     master denies again, what it holds is stale, and the next attempt asks all masters at once.
//   - A majority is free now, or no lock has a majority. Contenders split the vote, and remove their keys without a
//     message. All of them try again soon, at random times. There may be another reason, such as masters that are out
//     of memory, so the bound doubles with each split.
func (b *Backoff) Next(r Result) Plan {
	b.failures++
	delay := b.backoff()
	if !r.Probed {
		return Plan{Delay: delay} // without a first master: it might deny although no lock is held
	}
	m, jitter := r.Masters, b.random(min(maxJitter, b.RetryMin))
	switch {
	case m.Free >= b.Majority && r.FirstDenied:
		b.firstNext = !b.firstNext
		return Plan{Delay: min(delay, jitter), First: b.firstNext}
	case m.Free >= b.Majority, m.Largest+m.Failed+m.Pending < b.Majority:
		b.splits++
		return Plan{Delay: min(delay, jitter<<min(b.splits, 30)), First: true}
	}
	b.splits, b.firstNext = 0, false
	missing := b.Majority - m.Free - m.Pending // masters that must become free, if the pending ones are free
	expiry := nth(m.TTLs, max(1, missing))
	return Plan{Delay: min(delay, max(expiry, jitter)), First: true, Held: true, Expiry: expiry}
}

// backoff returns the back-off: a random time below a bound that doubles with each failure, as "Full Jitter" in
// "Exponential Backoff And Jitter" of the AWS Architecture Blog.
func (b *Backoff) backoff() time.Duration {
	bound := b.RetryMin << min(b.failures, 30)
	if bound > b.RetryMax || bound <= 0 {
		bound = b.RetryMax
	}
	return max(b.RetryMin, b.random(bound+1))
}

// random returns a random duration below d.
func (b *Backoff) random(d time.Duration) time.Duration {
	if b.Random != nil {
		return time.Duration(b.Random(int64(d)))
	}
	return time.Duration(rand.Int64N(int64(d)))
}

// nth returns the n-th smallest duration, counted from 1; Unlimited if there are fewer. It sorts ds.
func nth(ds []time.Duration, n int) time.Duration {
	if n > len(ds) {
		return Unlimited
	}
	slices.Sort(ds)
	return ds[n-1]
}
