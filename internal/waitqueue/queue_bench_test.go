package waitqueue_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/redlock-go/redlock/internal/waitqueue"
)

func benchmarkQueues() *waitqueue.Queues {
	return waitqueue.New(waitqueue.Config{
		Now:       time.Now,
		Listen:    func([]string, func()) waitqueue.Subscription { return nil },
		HeldError: func(string, string, string) error { return errHeld },
	})
}

// A lock of a name without contention.
func BenchmarkUncontended(b *testing.B) {
	qs, request := benchmarkQueues(), mutex("x")
	var l lock
	var w waitqueue.Waiter
	for b.Loop() {
		qs.Join(&w, request)
		w.Granted(&l.hold, epoch, epoch)
		l.hold.HandOver(&l, epoch)
		l.hold.Released(epoch, false)
		l.hold.Published(0, epoch)
	}
}

// A release of a name that other processes wait for, one of many such names a second.
func BenchmarkReleaseOfAContendedName(b *testing.B) {
	for _, names := range []int{50, 5000, 50_000} {
		b.Run(fmt.Sprint(names, " names"), func(b *testing.B) {
			qs, locks := benchmarkQueues(), make([]lock, names)
			for i := range locks {
				var w waitqueue.Waiter
				qs.Join(&w, mutex(fmt.Sprint("orders:", i)))
				w.Granted(&locks[i].hold, time.Now(), time.Now())
				locks[i].hold.Published(1, time.Now())
			}
			for i := 0; b.Loop(); i++ {
				locks[i%names].hold.Published(1, time.Now())
			}
		})
	}
}

// A TryLock that fails with the head of a long queue, and one whose context ends there.
func BenchmarkTryLockInAQueue(b *testing.B) {
	for _, callers := range []int{10, 1000, 40_000} {
		// queued returns the waiters of a queue; the first one has the turn.
		queued := func() (*waitqueue.Queues, []*waitqueue.Waiter) {
			qs, waiters := benchmarkQueues(), make([]*waitqueue.Waiter, callers)
			for i := range waiters {
				waiters[i] = new(waitqueue.Waiter)
				qs.Join(waiters[i], mutex("x"))
			}
			return qs, waiters
		}
		b.Run(fmt.Sprint("denied among ", callers), func(b *testing.B) {
			qs, waiters := queued()
			for i := 0; b.Loop(); i++ {
				qs.Join(new(waitqueue.Waiter), try(mutex("x")))
				head := waiters[i%callers]
				head.Failed(errHeld, true)
				head.Leave() // the next one has not failed, so another TryLock waits
				qs.Join(head, mutex("x"))
			}
		})
		b.Run(fmt.Sprint("canceled among ", callers), func(b *testing.B) {
			qs, _ := queued()
			for b.Loop() {
				var w waitqueue.Waiter
				qs.Join(&w, try(mutex("x")))
				w.Leave()
			}
		})
	}
}
