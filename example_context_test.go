package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/redlock-go/redlock"
)

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
