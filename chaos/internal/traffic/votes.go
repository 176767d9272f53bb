package traffic

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/history"
)

// Votes remembers what every master said last to an acquisition of a name, and the token that it then took from a
// majority. Callers of one name take turns in a Locker, so a master that was asked since a caller called was asked for
// that caller. Readers and callers of a semaphore ask at the same time, so it may have been for another of them.
type Votes struct {
	masters map[string]int // by address

	mu     sync.Mutex
	last   map[string]map[int]said // by lock and master
	failed map[string]time.Time    // by lock: what was asked before belongs to an earlier attempt
}

type said struct {
	history.Vote
	asked time.Time
}

// NewVotes returns the votes of the masters at these addresses.
func NewVotes(urls []string) *Votes {
	v := &Votes{masters: map[string]int{}, last: map[string]map[int]said{}, failed: map[string]time.Time{}}
	for i, u := range urls {
		if o, err := redis.ParseURL(u); err == nil { // what is no URL, Open will say
			v.masters[o.Addr] = i
		}
	}
	return v
}

// Trace returns the trace with which a Locker records its votes.
func (v *Votes) Trace() *redlock.Trace { return &redlock.Trace{Vote: v.record, Waiting: v.wait} }

func (v *Votes) wait(_ context.Context, e redlock.WaitingEvent) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.failed[e.Name] = time.Now()
}

func (v *Votes) record(_ context.Context, e redlock.VoteEvent) {
	master, known := v.masters[e.Node]
	if e.Op != "acquire" && e.Op != "raise" || !known {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if e.Op == "raise" {
		if s, ok := v.last[e.Name][master]; ok && e.Fence > s.Fence {
			s.Fence = e.Fence
			v.last[e.Name][master] = s
		}
		return
	}
	if v.last[e.Name] == nil {
		v.last[e.Name] = map[int]said{}
	}
	vote := history.Vote{Master: master, Verdict: string(e.Verdict), Fence: e.Fence, Took: e.Took, Err: text(e.Err)}
	asked := time.Now().Add(-e.Took)
	// A master that is asked again: an attempt failed, although its caller did not wait, as the first one of a reentrant
	// lock. The client's clock may be fast or slow, so the times at which one attempt asked differ a little.
	if old, ok := v.last[e.Name][master]; ok {
		if between := old.asked.Add(asked.Sub(old.asked) / 2); between.After(v.failed[e.Name]) {
			v.failed[e.Name] = between
		}
	}
	v.last[e.Name][master] = said{vote, asked}
}

// Since returns what was said to the last attempt to acquire a lock since begin, in the order of the masters. A master
// whose answer was not waited for is not among them, whatever it said to an earlier attempt.
func (v *Votes) Since(lock string, begin time.Time) []history.Vote {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all []history.Vote
	for _, s := range v.last[lock] {
		if !s.asked.Before(begin) && !s.asked.Before(v.failed[lock]) {
			all = append(all, s.Vote)
		}
	}
	slices.SortFunc(all, func(a, b history.Vote) int { return a.Master - b.Master })
	return all
}
