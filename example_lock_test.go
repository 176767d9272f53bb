package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

func ExampleLocker() {
	withMasters(func(ctx context.Context, masters []*redlocktest.Master) error {
		locker, err := open(masters) // redlock.Open with the URLs of the masters
		if err != nil {
			return err
		}
		lock, err := locker.Lock(ctx, "orders:42")
		if err != nil {
			return err
		}
		err = locker.Close()
		fmt.Println("closed:", err)
		fmt.Println(lock.Err())
		return nil
	})
	// Output:
	// closed: <nil>
	// redlock: lock "orders:42": the locker is closed
}

func ExampleLock() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		lock, err := locker.Lock(ctx, "orders:42")
		if err != nil {
			return err
		}
		fmt.Println(lock.Name(), "held:", lock.Err() == nil && time.Now().Before(lock.Until()))

		err = lock.Unlock(ctx)
		fmt.Println("unlocked:", err)
		<-lock.Context().Done()
		fmt.Println(context.Cause(lock.Context()))
		return nil
	})
	// Output:
	// orders:42 held: true
	// unlocked: <nil>
	// redlock: lock "orders:42": the lock was released
}

func ExampleOption() {
	withMasters(func(ctx context.Context, masters []*redlocktest.Master) error {
		_, err := open(masters, redlock.WithTTL(-time.Second))
		fmt.Println(err)

		locker, err := open(masters, redlock.WithOwner("report-3"))
		if err != nil {
			return err
		}
		defer locker.Close()
		lock, err := locker.Lock(ctx, "orders:42")
		if err != nil {
			return err
		}
		fmt.Println("report-3's:", strings.HasPrefix(lock.Token(), "report-3:"))
		return lock.Unlock(ctx)
	})
	// Output:
	// redlock: TTL -1s: it must be at least a millisecond
	// report-3's: true
}

func ExampleLockOption() {
	withMasters(func(ctx context.Context, masters []*redlocktest.Master) error {
		locker, err := open(masters, redlock.WithTTL(2*time.Minute)) // the default of all its locks
		if err != nil {
			return err
		}
		defer locker.Close()
		long, err := locker.Lock(ctx, "orders:42")
		if err != nil {
			return err
		}
		short, err := locker.Lock(ctx, "orders:43", redlock.WithTTL(time.Minute)) // of this one
		if err != nil {
			return errors.Join(err, long.Unlock(ctx))
		}
		fmt.Println("more than a minute:", time.Until(long.Until()) > time.Minute)
		fmt.Println("more than a minute:", time.Until(short.Until()) > time.Minute)
		return errors.Join(long.Unlock(ctx), short.Unlock(ctx))
	})
	// Output:
	// more than a minute: true
	// more than a minute: false
}

func ExampleHeldError() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		lock, err := locker.RW("catalog").RLock(ctx)
		if err != nil {
			return err
		}
		_, err = locker.RW("catalog").TryLock(ctx)
		var held *redlock.HeldError
		if errors.As(err, &held) {
			fmt.Println(held.Name, "has a", held.Kind)
			fmt.Println("try again within its TTL:", held.Retry > 0 && held.Retry <= time.Minute)
		}
		fmt.Println("held by another:", errors.Is(err, redlock.ErrHeld))
		return lock.Unlock(ctx)
	})
	// Output:
	// catalog has a reader
	// try again within its TTL: true
	// held by another: true
}

func ExampleTrace() {
	withMasters(func(ctx context.Context, masters []*redlocktest.Master) error {
		begin := func(call redlock.CallType, e redlock.Event) { fmt.Println(call, e.Kind, e.Name) }
		report := func(what string, o redlock.Outcome) { fmt.Println(what, o) }
		warn := func(master string, op redlock.Op, v redlock.Verdict, err error) { log.Println(master, op, v, err) }
		locker, err := open(masters, redlock.WithTrace(&redlock.Trace{
			AcquireStart: func(_ context.Context, e redlock.AcquireStartEvent) { begin(e.Call, e.Event) },
			Waiting:      func(_ context.Context, e redlock.WaitingEvent) { fmt.Println("waiting:", e.Err) },
			AcquireEnd:   func(_ context.Context, e redlock.AcquireEndEvent) { report("the call ended:", e.Outcome) },
			Extended:     func(_ context.Context, e redlock.ExtendedEvent) { fmt.Println("extended:", e.Err) },
			HoldEnd:      func(_ context.Context, e redlock.HoldEndEvent) { report("the hold ended:", e.Outcome) },
			Unlocked:     func(_ context.Context, e redlock.UnlockedEvent) { fmt.Println("unlocked:", e.Err) },
			Vote: func(_ context.Context, e redlock.VoteEvent) {
				if e.Verdict == redlock.VerdictUnknown {
					warn(e.Node, e.Op, e.Verdict, e.Err)
				}
			},
			Node: func(e redlock.NodeEvent) { log.Println(e.Node, e.State, e.Err) },
		}))
		if err != nil {
			return err
		}
		defer locker.Close()
		return locker.Do(ctx, "orders:42", func(context.Context) error { return nil })
	})
	// Output:
	// lock mutex orders:42
	// the call ended: acquired
	// the hold ended: released
	// unlocked: <nil>
}

// shop ships orders, one request at a time for each.
type shop struct {
	locker *redlock.Locker
	book   func(ctx context.Context, order string) error
}

// The README's code: a request under a lock.

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	lock, err := s.locker.TryLock(r.Context(), "orders:"+r.PathValue("id"))
	if errors.Is(err, redlock.ErrHeld) {
		http.Error(w, "the order is being processed", http.StatusConflict)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	ctx, cancel := lock.WithContext(r.Context()) // ends when the client goes away, or when the lock is lost
	defer cancel()
	defer lock.Unlock(ctx) // if book panics, which net/http recovers; Unlock works on a context that has ended
	err = s.book(ctx, r.PathValue("id"))
	// ErrNoQuorum of Unlock is no failure of the booking: it ended under the lock.
	if unlocked := lock.Unlock(ctx); !errors.Is(unlocked, redlock.ErrNoQuorum) {
		err = errors.Join(err, unlocked)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func ExampleLock_WithContext() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		ctx, hangUp := context.WithCancel(ctx) // as a client does
		defer hangUp()
		mux := http.NewServeMux()
		mux.Handle("POST /orders/{id}/ship", &shop{locker, func(ctx context.Context, order string) error {
			if order == "43" {
				hangUp()
				<-ctx.Done()
				return context.Cause(ctx)
			}
			fmt.Println("booked order", order)
			return nil
		}})
		for _, order := range []string{"42", "43"} {
			request := httptest.NewRequestWithContext(ctx, http.MethodPost, "/orders/"+order+"/ship", nil)
			answer := httptest.NewRecorder()
			mux.ServeHTTP(answer, request)
			fmt.Printf("%d %q\n", answer.Code, answer.Body)
		}
		return nil
	})
	// Output:
	// booked order 42
	// 200 ""
	// 500 "context canceled\n"
}

func ExampleFromContext() {
	withLocker(func(ctx context.Context, locker *redlock.Locker) error {
		return locker.Do(ctx, "orders:42", func(ctx context.Context) error {
			lock, ok := redlock.FromContext(ctx)
			fmt.Println(lock.Name(), ok, "has a fencing token:", lock.Fence() > 0)
			return nil
		}, redlock.WithFencing())
	})
	// Output:
	// orders:42 true has a fencing token: true
}
