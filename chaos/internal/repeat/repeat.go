// Package repeat calls a function several times: at once, or again and again.
package repeat

import (
	"errors"
	"time"

	"golang.org/x/sync/errgroup"
)

// AtOnce calls do with 0 to n-1, all at once, and returns all errors when all calls have returned.
func AtOnce(n int, do func(i int) error) error { return AtMost(n, n, do) }

// AtMost calls do with 0 to n-1, some at a time, and returns all errors when all calls have returned.
func AtMost(some, n int, do func(i int) error) error {
	errs := make([]error, n)
	var all errgroup.Group
	all.SetLimit(some)
	for i := range n {
		all.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = all.Wait() // errs has the errors
	return errors.Join(errs...)
}

// Every calls do every d until stop is closed.
func Every(d time.Duration, stop <-chan struct{}, do func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			do()
		case <-stop:
			return
		}
	}
}
