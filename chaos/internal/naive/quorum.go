package naive

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock/chaos/internal/locker"
)

// several is a client of several masters. Every lock over a quorum embeds it. It follows Redlock: ask all masters, each
// with a short timeout; hold with a majority and validity left; release on all masters otherwise.
type several struct {
	locker.Settings
	masters []*redis.Client
	// take reports whether one master grants the lock. give releases it on one master.
	take func(ctx context.Context, master *redis.Client, r locker.Request) (bool, error)
	give func(ctx context.Context, master *redis.Client, r locker.Request) error
}

// onSeveral returns a function that opens a lock over a quorum.
func onSeveral(
	take func(context.Context, *redis.Client, locker.Request) (bool, error),
	give func(context.Context, *redis.Client, locker.Request) error,
) func(locker.Settings) (locker.Locker, error) {
	return func(s locker.Settings) (locker.Locker, error) {
		l := &several{Settings: complete(s), take: take, give: give}
		for _, u := range s.URLs {
			c, err := dial(u)
			if err != nil {
				return nil, errors.Join(err, l.Close())
			}
			l.masters = append(l.masters, c)
		}
		return l, nil
	}
}

func (l *several) Lock(ctx context.Context, r locker.Request) (locker.Lock, error) {
	var until time.Time
	err := wait(ctx, r, func(ctx context.Context) (bool, error) {
		begin := l.Clock.Now()
		granted := l.all(ctx, func(ctx context.Context, m *redis.Client) bool {
			ok, err := l.take(ctx, m, r)
			return ok && err == nil
		})
		until = begin.Add(r.TTL - r.TTL/100 - 2*time.Millisecond)
		if granted > len(l.masters)/2 && l.Clock.Now().Before(until) {
			return true, nil
		}
		_ = l.back(ctx, r)
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return &hold{l.Owner + ":" + rand.Text(), until, func(ctx context.Context) error { return l.back(ctx, r) }}, nil
}

// back releases on every master, also on those that refused.
func (l *several) back(ctx context.Context, r locker.Request) error {
	done := l.all(ctx, func(ctx context.Context, m *redis.Client) bool { return l.give(ctx, m, r) == nil })
	if done <= len(l.masters)/2 {
		return errors.New("too few masters confirmed the release")
	}
	return nil
}

// all asks all masters at once and returns how many granted.
func (l *several) all(ctx context.Context, ask func(context.Context, *redis.Client) bool) int {
	ctx, cancel := context.WithTimeout(ctx, l.Timeout)
	defer cancel()
	agreed := make([]bool, len(l.masters))
	var asked sync.WaitGroup
	for i, m := range l.masters {
		asked.Go(func() { agreed[i] = ask(ctx, m) })
	}
	asked.Wait()
	n := 0
	for _, yes := range agreed {
		if yes {
			n++
		}
	}
	return n
}

func (l *several) Close() error {
	var errs []error
	for _, m := range l.masters {
		errs = append(errs, m.Close())
	}
	return errors.Join(errs...)
}
