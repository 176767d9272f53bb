package redlocktest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

// The README links to this test.
func TestWorkStopsWhenTheLockIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // here the TTL of 10 s takes no real time
		locker, masters := redlocktest.StartLocker(t, 5)
		err := locker.Do(t.Context(), "orders:42", func(ctx context.Context) error {
			for _, m := range masters[:3] {
				m.Stop() // also Start, Freeze, Thaw, Slow, Refuse, Hold, Release, Wipe
			}
			<-ctx.Done() // the work
			return context.Cause(ctx)
		})
		if !errors.Is(err, redlock.ErrLost) {
			t.Fatalf("the loss was not reported: %v", err)
		}
	})
}
