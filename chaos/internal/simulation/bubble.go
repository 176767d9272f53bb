package simulation

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/redlock-go/redlock/chaos/internal/check"
)

// InBubble runs a schedule in its own synctest bubble, in any program. Package synctest requires a testing.T; a zero T
// suffices. Failures that the simulated network reports become findings of the Result.
func InBubble(s Schedule, open Open) (r *Result) {
	w := &witness{}
	ended := make(chan struct{})
	go func() { // a T may end its goroutine
		defer close(ended)
		defer func() {
			if p := recover(); p != nil { // most likely a deadlock
				r = &Result{Schedule: s}
				w.Errorf("panic: %v", p)
			}
		}()
		synctest.Test(new(testing.T), func(t *testing.T) {
			w.T = t
			r = Run(w, s, open)
		})
	}()
	<-ended
	for _, text := range w.said {
		r.Found = append(r.Found, foundAt(r.Took, "world", check.ByHarness, text))
	}
	return r
}

// witness is a testing.T that records failures.
type witness struct {
	*testing.T
	mu   sync.Mutex
	said []string
}

func (w *witness) Errorf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
}
