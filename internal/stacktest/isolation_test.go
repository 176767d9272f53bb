package stacktest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One lock's release affects no other lock of the Locker, also where every master hangs up at it.
func TestAReleaseAtWhichMastersHangUpAffectsNoOtherLock(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		for _, m := range w.Masters() {
			m.HangUp(func(args []string) bool { return args[0] == "evalsha" && slices.Contains(args, "poison") })
		}
		healthy := lock(t, l, "healthy")
		_ = lock(t, l, "poison").Unlock(t.Context())
		failed, asked := 0, 0
		for end := time.Now().Add(2 * ttl); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			asked++
			lk, err := l.TryLock(t.Context(), fmt.Sprint("other-", asked))
			if err != nil {
				failed++
				continue
			}
			unlock(t, lk)
		}
		assert.LessOrEqual(t, failed, 1, "of %d TryLocks of other names", asked)
		require.NoError(t, healthy.Err())
		unlock(t, healthy)
	})
}
