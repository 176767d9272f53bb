package repeat_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/repeat"
)

func TestSomeRunAtATimeAndAllErrorsAreReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		odd, last := errors.New("odd"), errors.New("last")
		var running, most atomic.Int64
		begin := time.Now()
		err := repeat.AtMost(2, 5, func(i int) error {
			most.Store(max(most.Load(), running.Add(1)))
			time.Sleep(time.Second)
			running.Add(-1)
			return map[int]error{1: odd, 4: last}[i]
		})
		require.ErrorIs(t, err, odd)
		require.ErrorIs(t, err, last)
		assert.EqualValues(t, 2, most.Load())
		assert.Equal(t, 3*time.Second, time.Since(begin))
	})
}
