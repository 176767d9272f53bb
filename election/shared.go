package election

import (
	"context"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/clock"
)

// sharedReadings are the last readings for Observe. All observers of one Locker and name share one, so that the number
// of requests does not depend on how many observe.
var sharedReadings = struct {
	sync.Mutex
	of map[readingKey]*sharedReading
}{of: make(map[readingKey]*sharedReading)}

type readingKey struct {
	locker *redlock.Locker
	name   string
}

// sharedReading is the last reading of one name.
type sharedReading struct {
	observers int           // sharedReadings guards it
	turn      chan struct{} // holds a value while an observer asks the masters; guards the rest
	next      time.Time     // when to ask again
	reading   reading
	err       error
}

// share returns the shared reading of an election. The caller must call leave when it no longer uses it.
func (e *Election) share() (s *sharedReading, leave func()) {
	all, key := &sharedReadings, readingKey{e.locker, e.name}
	all.Lock()
	defer all.Unlock()
	s = all.of[key]
	if s == nil {
		s = &sharedReading{turn: make(chan struct{}, 1)}
		all.of[key] = s
	}
	s.observers++
	return s, func() {
		all.Lock()
		defer all.Unlock()
		if s.observers--; s.observers == 0 {
			delete(all.of, key)
		}
	}
}

// find is like [Election.find]. It returns the last reading if it is younger than pollInterval. next is when to ask
// again.
func (s *sharedReading) find(ctx context.Context, e *Election) (r reading, next time.Time, err error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return reading{}, time.Time{}, ctx.Err()
	}
	defer func() { <-s.turn }()
	if clock.System.Now().Before(s.next) {
		return s.reading, s.next, s.err
	}
	if r, err = e.find(ctx); ctx.Err() != nil {
		return r, time.Time{}, ctx.Err() // this observer's end tells nothing to the others
	}
	s.reading, s.err, s.next = r, err, clock.System.Now().Add(pollInterval)
	return r, s.next, err
}
