package integration_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisbox"
)

func TestLifeOfALock(t *testing.T) {
	masters := masters(t)
	ours, others := open(t, masters, redlock.WithOwner("us")), open(t, masters)
	ctx := within(t, patience)

	rows, err := ours.Nodes(ctx)
	require.NoError(t, err)
	for i, row := range rows {
		assert.Equal(t, masters[i].Addr(), row.Node)
		assert.True(t, row.MayVote, "%+v", row)
		assert.Equal(t, "master", row.Role)
	}

	l := lock(t, ours, "life", redlock.WithoutKeepalive())
	first := l.Until()
	assert.NoError(t, l.Err())
	assert.True(t, strings.HasPrefix(l.Token(), "us:"), l.Token())
	for _, m := range masters {
		requireValue(t, settled, m, "life", l.Token()) // on the last two perhaps a moment after the majority
	}
	votes, token := holders(t, others, "life")
	assert.Equal(t, 5, votes)
	assert.Equal(t, l.Token(), token)

	_, err = others.TryLock(ctx, "life")
	var held *redlock.HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, "life", held.Name)

	require.NoError(t, l.Extend(ctx))
	assert.True(t, l.Until().After(first))

	unlock(t, l)
	assert.ErrorIs(t, l.Err(), redlock.ErrReleased)
	assert.ErrorIs(t, l.Unlock(ctx), redlock.ErrReleased)
	requireEmpty(t, settled, masters...)
	votes, _ = holders(t, others, "life")
	assert.Zero(t, votes)

	next, err := others.TryLock(ctx, "life")
	require.NoError(t, err)
	unlock(t, next)
}

// wait has a second Locker wait for a name that is held, with a backoff and TTLs so long that only a release message
// can end the wait, and returns when it listens on every master. got is closed when it has the lock.
func wait(t *testing.T, masters []*redisbox.Master, name string) (got chan *redlock.Lock) {
	t.Helper()
	waiter := open(t, masters, redlock.WithTTL(long), redlock.WithoutRestartGuard(), redlock.WithRetry(long, long))
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
	eventually(t, patience, func() error { return every(t, masters, func(l left) bool { return l.channels == 1 }) })
	return got
}

func TestAReleaseWakesTheWaiter(t *testing.T) {
	masters := masters(t)
	holder := open(t, masters, redlock.WithTTL(long), redlock.WithoutRestartGuard())
	l := lock(t, holder, "woken")
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
	holder := open(t, masters, redlock.WithTTL(long), redlock.WithoutRestartGuard())
	lock(t, holder, "asleep", redlock.WithoutKeepalive())
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

// After Close nothing of a Locker is left on the masters: not what it held, no subscription, no connection.
func TestCloseLeavesNothingOnTheMasters(t *testing.T) {
	masters := masters(t)
	holder := open(t, masters, redlock.WithTTL(long), redlock.WithoutRestartGuard())
	l := lock(t, holder, "ours")
	for i := range 10 {
		lock(t, holder, fmt.Sprintf("ours:%d", i))
	}
	locker := open(t, masters, redlock.WithTTL(long), redlock.WithoutRestartGuard(), redlock.WithRetry(long, long))
	waited := make(chan error, 1)
	go func() {
		_, err := locker.Lock(t.Context(), "ours")
		waited <- err
	}()
	// The control: there is something to clear up on every one of them.
	eventually(t, patience, func() error {
		return every(t, masters, func(l left) bool { return l.keys == 11 && l.clients > 2 && l.channels == 1 })
	})

	require.NoError(t, locker.Close())
	assert.ErrorIs(t, <-waited, redlock.ErrClosed)
	require.NoError(t, holder.Close())
	assert.ErrorIs(t, l.Err(), redlock.ErrClosed)

	eventually(t, settled, func() error {
		return every(t, masters, func(l left) bool { return l == left{clients: 1} }) // the one that asks
	})
}

// left is what a master has of its clients.
type left struct{ keys, clients, channels int }

// every returns an error that shows what a master has if that is not as it should be.
func every(t *testing.T, masters []*redisbox.Master, should func(left) bool) error {
	t.Helper()
	for _, m := range masters {
		clients := ask(t, m, "CLIENT", "LIST").(string)
		has := left{
			keys:     int(ask(t, m, "DBSIZE").(int64)),
			clients:  strings.Count(clients, "\n"),
			channels: len(ask(t, m, "PUBSUB", "CHANNELS", "*").([]any)),
		}
		if !should(has) {
			return fmt.Errorf("%s has %+v:\n%s", m, has, clients)
		}
	}
	return nil
}
