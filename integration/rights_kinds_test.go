package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// The step that fails first without a right.
const (
	nothing   = ""
	toAcquire = "acquire"
	toKeep    = "keep"
	toRelease = "release"
)

// kindsByRight has the step that fails first without a right, by the kind of lock. Kinds that are not listed work. See
// docs/masters.md.
var kindsByRight = map[string]map[string]string{
	"set":     {"mutex": toAcquire},
	"del":     {"mutex": toRelease},
	"pttl":    {"reader": toAcquire, "writer": toAcquire, "reentrant": toAcquire},
	"type":    {"reader": toKeep, "writer": toKeep, "reentrant": toKeep, "semaphore": toKeep},
	"zscore":  {"reader": toKeep, "writer": toKeep, "reentrant": toKeep, "semaphore": toRelease},
	"pexpire": {"mutex": toKeep},
	"zadd":    {"reader": toAcquire, "writer": toAcquire, "reentrant": toAcquire, "semaphore": toAcquire},
}

// outcome acquires, keeps and releases a lock. It returns the first step that failed, and its error.
func outcome(ctx context.Context, acquire func(context.Context) (*redlock.Lock, error)) (string, error) {
	lk, err := acquire(ctx)
	if err != nil {
		return toAcquire, err
	}
	select {
	case <-lk.Context().Done():
		err := lk.Err()
		_ = lk.Unlock(ctx)
		return toKeep, err
	case <-time.After(ttl + ttl/10): // an extension has been needed by then
	}
	if err := lk.Unlock(ctx); err != nil {
		return toRelease, err
	}
	return nothing, nil
}

func TestWhatEachKindCannotDoWithoutARight(t *testing.T) {
	masters := masters(t)
	for right, kinds := range kindsByRight {
		t.Run("without "+right, func(t *testing.T) {
			t.Parallel()
			urls := restricted(t, masters, "kinds-no-"+right, append(rights(t), "-"+right)...)
			l := openAt(
				t, urls, redlock.WithTTL(ttl), redlock.WithNodeTimeout(nodeTimeout),
				redlock.WithMaxTTL(largest),
			)
			name := "orders:kinds:" + right
			for kind, acquire := range map[string]func(context.Context) (*redlock.Lock, error){
				"mutex": func(ctx context.Context) (*redlock.Lock, error) {
					return l.TryLock(ctx, name+":mutex")
				},
				"writer": func(ctx context.Context) (*redlock.Lock, error) {
					return l.RW(name + ":writer").TryLock(ctx)
				},
				"reader": func(ctx context.Context) (*redlock.Lock, error) {
					return l.RW(name + ":reader").TryRLock(ctx)
				},
				"reentrant": func(ctx context.Context) (*redlock.Lock, error) {
					return l.Reentrant(name+":reentrant", "owner").TryLock(ctx)
				},
				"semaphore": func(ctx context.Context) (*redlock.Lock, error) {
					return l.Semaphore(name+":semaphore", 2).TryAcquire(ctx)
				},
			} {
				t.Run(kind, func(t *testing.T) {
					t.Parallel()
					failed, err := outcome(within(t, patience), acquire)
					assert.Equal(t, kinds[kind], failed, "%v", err)
					if failed != nothing {
						require.Regexp(t, "NOPERM|can't run this command", err.Error())
					}
				})
			}
		})
	}
}
