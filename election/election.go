// Package election elects one leader among the processes that share a set of masters.
//
// Every candidate makes an [Election] with the same name and calls [Election.Run], or [Election.Campaign] to control
// each step. The leader is the holder of a fenced mutex on the name, so a leadership is like a lock of
// [redlock.Locker.Lock]: the keepalive extends it, its context ends when it is lost, and a paused leader does not
// notice the loss. The term of a leader is its fencing token. Let the storage refuse a smaller term
// ([redlock.WithFencing]), or make it harmless that a deposed leader goes on.
//
//	e := election.New(locker, "scheduler")
//	err := e.Run(ctx, func(ctx context.Context) error { return schedule(ctx) }) // ctx ends with the leadership
//
// # How long there is no leader
//
// After [Leadership.Resign], a few round trips: the release message wakes the candidates. After a crash of the leader,
// at most the TTL: its keys expire within a TTL of its last extension. Then a candidate needs one more round trip, or a
// few backoffs ([redlock.WithRetry]) if the candidates split the vote. A paused leader loses its leadership after the
// same time.
package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redlock-go/redlock"
)

var (
	// ErrNoLeader means that no majority of the masters reports a leader.
	ErrNoLeader = errors.New("election: there is no leader")
	// ErrNotLeader means that this process does not lead.
	ErrNotLeader = errors.New("election: this process does not lead")
	// ErrUnknownTerm means that a majority of the masters reports a leader, but no majority reports the same term.
	ErrUnknownTerm = errors.New("election: the leader's term is unknown")
)

// Election is one process's view of an election. It is safe for concurrent use.
type Election struct {
	locker *redlock.Locker
	name   string
	opts   []redlock.LockOption

	mu     sync.Mutex
	latest *Leadership // of this process, the one with the largest term; nil before the first
}

// New returns the election with a name. It sends nothing: invalid arguments are errors of the methods. The options are
// those of the leader's mutex; fencing is always on. All candidates should use the same TTL.
//
// The mutex is that of [redlock.Locker.Lock]: a lock of any kind on the name excludes a leader, and is excluded by it.
func New(locker *redlock.Locker, name string, opts ...redlock.LockOption) *Election {
	return &Election{locker: locker, name: name, opts: append(slices.Clone(opts), redlock.WithFencing())}
}

// Campaign waits until this process leads, or until ctx ends. It waits, and fails, as [redlock.Locker.Lock] does. ctx
// bounds only the wait. A second Campaign of a process that leads waits for the end of that leadership.
func (e *Election) Campaign(ctx context.Context) (*Leadership, error) {
	lock, err := e.locker.Lock(ctx, e.name, e.opts...)
	if err != nil {
		return nil, err
	}
	l := &Leadership{lock: lock}
	e.record(l)
	return l, nil
}

// record records a new leadership, unless the recorded one still leads with a larger term. Of two concurrent Campaigns
// of this process, the one that led first may record its leadership last; that leadership has ended by then. If the
// recorded one has ended, a smaller term replaces it: it may be the present leader after masters lost their counters.
func (e *Election) record(l *Leadership) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.latest == nil || e.latest.Err() != nil || l.Term() > e.latest.Term() {
		e.latest = l
	}
}

// IsLeader returns nil while this process leads, by a Campaign or Run of this Election. Otherwise it returns an error
// that matches [ErrNotLeader] and, after a leadership, its [Leadership.Err]. It reads the clock and sends nothing. The
// result may be outdated at once: work that takes time should run under [Leadership.Context].
func (e *Election) IsLeader(context.Context) error {
	e.mu.Lock()
	l := e.latest
	e.mu.Unlock()
	if l == nil {
		return fmt.Errorf("%w %q", ErrNotLeader, e.name)
	}
	if err := l.Err(); err != nil {
		return fmt.Errorf("%w %q: %w", ErrNotLeader, e.name, err)
	}
	return nil
}

// Leadership is one term of this process as the leader. It is safe for concurrent use.
type Leadership struct{ lock *redlock.Lock }

// Term returns the number of the term, the fencing token of the leader's mutex. It is larger than the term of every
// earlier leader; see [redlock.WithFencing] for what that rests on.
func (l *Leadership) Term() uint64 { return l.lock.Fence() }

// Context returns a context that ends with the leadership, as [redlock.Lock.Context] does. It keeps the values of the
// context given to Campaign, and [redlock.FromContext] returns the leader's mutex.
func (l *Leadership) Context() context.Context { return l.lock.Context() }

// Err returns nil while this process leads, and then an error that matches [redlock.ErrLost], [redlock.ErrReleased] or
// [redlock.ErrClosed]. It reads the clock; see [redlock.Lock.Err].
func (l *Leadership) Err() error { return l.lock.Err() }

// Resign ends the leadership and wakes the candidates. Its errors are those of [redlock.Lock.Unlock]. Call it after a
// loss, too: otherwise other candidates may have to wait for the end of the TTL.
func (l *Leadership) Resign(ctx context.Context) error { return l.lock.Unlock(ctx) }
