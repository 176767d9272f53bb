package integration_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisproc"
)

// lockerOver is a Locker over masters that have just been started, and are not restarted.
func lockerOver(t *testing.T, masters []*redisproc.Server, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	return openAt(t, redisproc.URLs(masters), append([]redlock.Option{redlock.WithoutRestartGuard()}, opts...)...)
}

// free waits until no master holds the name. An Unlock of ours returns at the majority.
func free(t *testing.T, masters []*redisproc.Server, name string) {
	t.Helper()
	for _, m := range masters {
		c := client(t, m)
		eventually(t, settled, func() error {
			if n, err := c.Exists(t.Context(), name).Result(); err != nil || n > 0 {
				return fmt.Errorf("%s still has %s (%v)", m.Addr(), name, err) //nolint:errorlint // it may be nil
			}
			return nil
		})
	}
}

func TestPeersAndWeExcludeEachOther(t *testing.T) {
	withPeers(t, func(t *testing.T, p peer, masters []*redisproc.Server) {
		ours := lockerOver(t, masters)
		ctx := within(t, patience)
		for i, k := range kinds() {
			name := fmt.Sprintf("name:%d", i)

			l, err := k.try(ctx, ours, name)
			require.NoError(t, err, k.name)
			for range 2 {
				_, taken := p.tryLock(t, name, long)
				require.False(t, taken, "under our %s", k.name)
				require.NoError(t, l.Extend(ctx), "what the peer tried did no harm to our %s", k.name)
			}
			unlock(t, l)
			free(t, masters, name)

			value, taken := p.tryLock(t, name, long)
			require.True(t, taken, "after our %s", k.name)
			_, err = k.try(ctx, ours, name)
			var held *redlock.HeldError
			require.ErrorAs(t, err, &held, "our %s under the peer's lock", k.name)
			assert.Equal(t, name, held.Name)
			if !k.plain() { // SET NX PX does not report it
				assert.EqualValues(t, "mutex", held.Kind)
				assert.Greater(t, held.Retry, long/2)
			}
			votes, token := holders(t, ours, name)
			assert.Equal(t, len(masters), votes)
			assert.Equal(t, value, token)
			require.True(t, p.extend(t, name), "what our %s tried did no harm to the peer", k.name)
			require.True(t, p.unlock(t, name))

			l, err = k.try(ctx, ours, name)
			require.NoError(t, err, "after the peer")
			unlock(t, l)
			free(t, masters, name)
		}
	})
}

// contend has two of our Lockers and a peer add to one number, rounds times each, and returns the first error.
func contend(t *testing.T, p peer, masters []*redisproc.Server, shared number, rounds int, our, their string) error {
	t.Helper()
	ctx := within(t, 2*patience)
	errs := make(chan error, 2)
	var done sync.WaitGroup
	defer done.Wait()
	for range 2 {
		locker := lockerOver(t, masters, redlock.WithTTL(long), redlock.WithRetry(5*time.Millisecond, 20*time.Millisecond))
		done.Go(func() {
			for range rounds {
				add := func(ctx context.Context) error { return shared.add(ctx, "redlock") }
				if err := locker.Do(ctx, our, add); err != nil {
					errs <- err
					return
				}
				rest()
			}
		})
	}
	for range rounds {
		_, taken := p.tryLock(t, their, long)
		for ; !taken; _, taken = p.tryLock(t, their, long) {
			require.NoError(t, ctx.Err())
			time.Sleep(5 * time.Millisecond) // as the peers wait
		}
		if err := shared.add(ctx, "peer"); err != nil {
			return err
		}
		require.True(t, p.unlock(t, their))
		rest()
	}
	done.Wait()
	close(errs)
	return <-errs
}

func TestPeersAndWeContend(t *testing.T) {
	withPeers(t, func(t *testing.T, p peer, masters []*redisproc.Server) {
		const rounds = 30
		shared := newNumber(t)
		require.NoError(t, contend(t, p, masters, shared, rounds, "number", "number"))
		value, turns := shared.value(t)
		assert.Equal(t, 3*rounds, value, "counts were lost")
		assert.Greater(t, turns, 4, "they hardly met")
		free(t, masters, "number")
	})
}

// The control of the test above: where they do not lock the same name, it sees them together.
func TestPeersAndWeContendUnderDifferentNames(t *testing.T) {
	withPeers(t, func(t *testing.T, p peer, masters []*redisproc.Server) {
		_, taken := p.tryLock(t, "warm", long) // to start takes some of them a while
		require.True(t, taken)
		require.True(t, p.unlock(t, "warm"))
		require.ErrorIs(t, contend(t, p, masters, newNumber(t), 100, "number", "another"), errOverlap)
	})
}

// What docs/masters.md says not to use, because it breaks in.

func TestRedsyncWithSetNXOnExtendDoesNotNoticeThatItWasLost(t *testing.T) {
	masters := redisproc.ForTest(t, 5)
	ours := lockerOver(t, masters)
	for _, set := range []bool{false, true} {
		var options []redsync.Option
		if set {
			options = append(options, redsync.WithSetNXOnExtend())
		}
		p := openRedsync(options...)(t, masters)
		_, taken := p.tryLock(t, "revived", ttl/4)
		require.True(t, taken)
		unlock(t, lock(t, ours, "revived")) // expired, and was ours meanwhile
		free(t, masters, "revived")
		assert.Equal(t, set, p.extend(t, "revived"), "WithSetNXOnExtend: %v", set)
		p.unlock(t, "revived")
	}
}

func TestRedislockWithTheBeginningOfOurTokenTakesTheLock(t *testing.T) {
	masters := redisproc.ForTest(t, 1)
	ours := lockerOver(t, masters, redlock.WithOwner("worker"))
	for token, takes := range map[string]bool{"worker": true, "another": false} {
		p := openRedislock(t, masters).(*redislockPeer)
		p.options = &redislock.Options{Token: token}
		l := lock(t, ours, "same")
		_, taken := p.tryLock(t, "same", long)
		assert.Equal(t, takes, taken, "Token: %q", token)
		if taken {
			require.ErrorIs(t, l.Extend(t.Context()), redlock.ErrLost)
			require.True(t, p.unlock(t, "same"))
		} else {
			unlock(t, l)
		}
	}
}

// redis-py's Lock has no timeout unless it is given one. Then, if its holder dies, no other client ever gets the name.
func TestRedisPyWithoutATimeoutHoldsForever(t *testing.T) {
	masters := redisproc.ForTest(t, 1)
	p := openRedisPy(t, masters)
	ours := lockerOver(t, masters)
	_, taken := p.tryLock(t, "without a TTL", 0)
	require.True(t, taken)
	_, err := ours.Lock(within(t, ttl/2), "without a TTL")
	require.ErrorIs(t, err, redlock.ErrHeld)
	seen, err := ours.Inspect(t.Context(), "without a TTL")
	require.NoError(t, err)
	require.Len(t, seen.Holders, 1)
	assert.Negative(t, seen.Holders[0].Left)
	require.True(t, p.unlock(t, "without a TTL"))
	unlock(t, lock(t, ours, "without a TTL"))
}
