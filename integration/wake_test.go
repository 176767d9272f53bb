package integration_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisbox"
)

// wait has a second Locker wait for a name that is held, with a backoff and TTLs so long that only a release message
// can end the wait, and returns when it listens on every master. got is closed when it has the lock.
func wait(t *testing.T, masters []*redisbox.Master, name string) (got chan *redlock.Lock) {
	t.Helper()
	waiter := openLong(t, masters, redlock.WithRetry(long, long))
	got = make(chan *redlock.Lock, 1)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	var done sync.WaitGroup
	t.Cleanup(func() { cancel(); done.Wait() })
	done.Go(func() {
		l, err := waiter.Lock(ctx, name)
		if err == nil {
			got <- l
		} else {
			close(got)
		}
	})
	for _, m := range masters {
		eventually(t, patience, func() error {
			if n := len(ask(t, m, "PUBSUB", "CHANNELS", "*").([]any)); n != 1 {
				return fmt.Errorf("%s has %d channels", m, n)
			}
			return nil
		})
	}
	return got
}

func TestAReleaseWakesTheWaiter(t *testing.T) {
	masters := masters(t)
	l := lock(t, openLong(t, masters), "woken")
	got := wait(t, masters, "woken")

	unlock(t, l)
	select {
	case next := <-got:
		require.NotNil(t, next, "the waiter gave up")
		unlock(t, next)
	case <-time.After(long / 10):
		t.Fatal("the waiter slept through the release")
	}
}

// The control of the test above: the waiter does not notice a silent release, so it was not polling there.
func TestADeletedKeyWakesNoWaiter(t *testing.T) {
	masters := masters(t)
	lock(t, openLong(t, masters), "asleep", redlock.WithoutKeepalive())
	got := wait(t, masters, "asleep")
	for _, m := range masters {
		ask(t, m, "DEL", "asleep")
	}
	select {
	case <-got:
		t.Fatal("the waiter found out without a message")
	case <-time.After(long / 15):
	}
}
