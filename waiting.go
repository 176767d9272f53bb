package redlock

import (
	"context"
	"errors"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/redlock-go/redlock/node"
)

// pause waits until another attempt is worth it: a release was announced, the holder's TTL ends, or the backoff is over.
func (a *attempts) pause(ctx context.Context) error {
	l := a.locker
	delay := a.backoff()
	if errors.Is(a.last, ErrHeld) {
		l.lines.listen(a.line)
		delay = min(delay, a.freeIn(ctx))
	} else {
		a.scout = false // it might deny, and that is not what is in the way
	}
	if a.intent != "" {
		delay = min(delay, intentGap)
	}
	if t := a.cfg.trace; t != nil && t.Waiting != nil {
		t.Waiting(a.target.title(), delay, a.last)
	}
	up := make(chan struct{})
	timer := a.cfg.clock.AfterFunc(delay, func() { close(up) })
	defer timer.Stop()
	select {
	case <-a.line.wake: // silent unless the line listens
	case <-up:
	case <-ctx.Done():
		return a.gaveUp(ctx)
	case <-l.ending:
		return ErrClosed
	}
	return nil
}

// backoff is how long to wait at most: full jitter below a bound that doubles with each attempt. The source is
// "Exponential Backoff And Jitter" of the AWS Architecture Blog.
func (a *attempts) backoff() time.Duration {
	bound := a.cfg.retryMin << min(a.count, 30)
	if bound > a.cfg.retryMax || bound <= 0 {
		bound = a.cfg.retryMax
	}
	return max(a.cfg.retryMin, time.Duration(mathrand.Int64N(int64(bound)+1)))
}

// spread is how far apart those who wait for one moment go for it, so that they do not split the vote.
const spread = 10 * time.Millisecond

// freeIn asks the masters when enough of them will be free to make a majority if nobody releases or extends, and
// decides whether the next attempt asks a scout first.
//
// Sometimes nobody is to be waited for: a scout alone said no. Another contender is just coming through, or, if it says so
// again, it is stale, and is gone round. Or the vote was split between contenders, who give back what they got without a message: no lock
// has a majority, and all come again soon, and apart. There may be other reasons for that (masters restarted a moment ago,
// or are out of memory), so that soon becomes later from time to time.
func (a *attempts) freeIn(ctx context.Context) time.Duration {
	a.scout, a.looked = true, true
	need := a.locker.quorum.Majority()
	view, err := a.look(ctx, true)
	if err == nil && view.free < need && view.most() < need {
		view, err = a.look(ctx, false) // nothing has a majority of those that answered first
	}
	if err != nil {
		a.scout = false
		return never
	}
	apart := mathrand.N(min(spread, a.cfg.retryMin))
	switch {
	case view.free >= need && a.alone:
		a.alones++
		a.scout = a.alones%2 == 1 // once may be a contender who is coming through
		return apart
	case view.free >= need, view.most()+view.silent+view.unread < need:
		a.splits++
		return apart << min(a.splits, 30)
	}
	a.splits, a.alones = 0, 0
	soonest := nth(view.lefts, max(1, need-view.free-view.unread)) // the unread may be free by then
	held := &HeldError{Name: a.target.names[view.longest.name], Kind: view.longest.kind}
	if soonest < never {
		held.Retry = soonest
	}
	a.last = held
	return max(soonest, apart)
}

func (a *attempts) look(ctx context.Context, first bool) (view sight, err error) {
	op := a.claim(newToken(a.owner())).look(a.intentLife())
	answers, err := a.locker.quorum.Read(ctx, op, a.cfg.timeout(), first)
	for _, an := range answers {
		if an.Voted {
			view.add(an.Vote)
		} else {
			view.unread++
		}
	}
	return view, err
}

// sight is what a contender sees when it looks at the masters.
type sight struct {
	free    int             // how many masters would grant
	silent  int             // how many failed to answer
	unread  int             // how many have not answered yet
	lefts   []time.Duration // for how long others would not, where that has an end
	locks   map[string]int  // what is in the way, and on how many masters
	longest obstacle        // what of that stays longest
}

func (s *sight) add(v node.Vote) {
	way, denied := v.Data.(obstacle)
	switch {
	case v.Verdict == node.Granted:
		s.free++
	case v.Verdict == node.Denied && denied:
		if way.left >= 0 {
			s.lefts = append(s.lefts, way.left)
		}
		if s.locks == nil {
			s.locks = make(map[string]int)
		}
		s.locks[way.lock()]++
		if way.left < 0 || (way.left >= s.longest.left && s.longest.left >= 0) {
			s.longest = way
		}
	default:
		s.silent++
	}
}

// most is on how many masters that lock is in the way that has most of them.
func (s *sight) most() (most int) {
	for _, n := range s.locks {
		most = max(most, n)
	}
	return most
}

// intentGap is how long a waiting writer leaves its intent without looking again.
const intentGap = time.Second

// intentLife is how long the intent lives: until the writer looks again, and a little longer for slow masters. A writer that
// dies keeps readers out for no longer.
func (a *attempts) intentLife() time.Duration {
	return min(a.cfg.retryMax, intentGap) + 3*a.cfg.timeout()
}

// never is longer than anybody waits.
const never = time.Duration(1<<63 - 1)

// nth is the n-th smallest of ds, counted from 1; never if there are fewer.
func nth(ds []time.Duration, n int) time.Duration {
	if n > len(ds) {
		return never
	}
	slices.Sort(ds)
	return ds[n-1]
}
