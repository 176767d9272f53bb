// Package gocronlock runs each job of several gocron schedulers (github.com/go-co-op/gocron/v2) on one machine at a
// time. A [Locker] locks every run of a job; an [Elector] runs all jobs on one elected machine.
//
//	locks := gocronlock.NewLocker(locker)
//	scheduler, err := gocron.NewScheduler(gocron.WithDistributedLocker(locks))
//	scheduler.NewJob(gocron.CronJob("0 3 * * *", false), gocron.NewTask(locks.Job("report", report)),
//		gocron.WithName("report"))
//
// gocron passes its own context to a job. [Locker.Job] and [Elector.Job] wrap the function of a job so that its context
// also ends with the lock or the leadership.
package gocronlock

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-co-op/gocron/v2"

	"github.com/redlock-go/redlock"
)

// Locker is a gocron.Locker. The name of a job is the name of a mutex, so give every job a name (gocron.WithName) that
// no other lock has. A Locker is safe for concurrent use.
type Locker struct {
	locker *redlock.Locker
	opts   []redlock.LockOption

	mu   sync.Mutex
	next map[string]*redlock.Lock // of the run that has not called its function yet, by the name of the job
}

var _ gocron.Locker = (*Locker)(nil)

// NewLocker returns a Locker that locks with these options.
//
// The lock of a run ends with the run. If a machine's clock is behind by more than a run takes, that machine runs the
// job again. [redlock.WithMinHold] prevents this.
func NewLocker(locker *redlock.Locker, opts ...redlock.LockOption) *Locker {
	return &Locker{locker: locker, opts: opts, next: make(map[string]*redlock.Lock)}
}

// Lock locks a run of a job. It does not wait: if another machine runs the job, it returns an error that matches
// [redlock.ErrHeld], and gocron skips the run.
func (l *Locker) Lock(ctx context.Context, job string) (gocron.Lock, error) {
	lock, err := l.locker.TryLock(ctx, job, l.opts...)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next[job] = lock
	return &run{locker: l, lock: lock}, nil
}

// Job wraps the function fn of a job for gocron.NewTask. The context passed to fn ends with gocron's, or when the lock
// of the run is lost; [redlock.FromContext] returns the lock. job is the name of the job. If the run is not locked,
// because the job has another name or its scheduler another Locker, or because the run lost its lock before it began,
// the function returns an error and does not call fn.
func (l *Locker) Job(job string, fn func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		l.mu.Lock()
		lock := l.next[job]
		delete(l.next, job) // a lock is for one run, even if an earlier one comes late, after it lost its own
		l.mu.Unlock()
		if lock == nil {
			return fmt.Errorf("gocronlock: the run of %q is not locked: pass the Locker to the scheduler, and name the job %q",
				job, job)
		}
		if err := lock.Err(); err != nil {
			return err
		}
		ctx, cancel := lock.WithContext(ctx)
		defer cancel()
		return fn(ctx)
	}
}

// run is the lock of one run. It is a gocron.Lock.
type run struct {
	locker *Locker
	lock   *redlock.Lock
}

// Unlock implements gocron.Lock. gocron ignores its error.
func (r *run) Unlock(ctx context.Context) error {
	name := r.lock.Name()
	r.locker.mu.Lock()
	if r.locker.next[name] == r.lock {
		delete(r.locker.next, name)
	}
	r.locker.mu.Unlock()
	return r.lock.Unlock(ctx)
}
