package simulation

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// InBubble runs a schedule in a bubble of its own, in any program: package synctest wants a testing.T, and is content
// with one that belongs to no test. What the world has to complain about is a problem of the Result.
func InBubble(s Schedule, open Open) (r *Result) {
	w := &witness{}
	ended := make(chan struct{})
	go func() { // of its own, since a T may end its goroutine
		defer close(ended)
		defer func() {
			if p := recover(); p != nil { // a deadlock, above all
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
		r.Problems = append(r.Problems, Problem{By: ByHarness, Entry: Entry{At: r.Took, Where: "world", Text: text}})
	}
	return r
}

// witness is a T that takes note of what fails.
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
