package redlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

// inExample stands in for the t of a test function, which an example does not have.
type inExample struct {
	testing.TB
	cleanups []func()
}

func (*inExample) Helper()            {}
func (t *inExample) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// withMasters runs f with five masters in this process, and prints its error.
func withMasters(f func(ctx context.Context, masters []*redlocktest.Master) error) {
	t := &inExample{}
	defer func() {
		for _, cleanup := range t.cleanups {
			cleanup()
		}
	}()
	if err := f(context.Background(), redlocktest.Start(t, 5)); err != nil {
		fmt.Println(err)
	}
}

// open opens a Locker as README does. It misses no answer of masters which share a busy machine with other tests.
func open(masters []*redlocktest.Master, opts ...redlock.Option) (*redlock.Locker, error) {
	patient := []redlock.Option{redlock.WithNodeTimeout(9 * time.Second)}
	return redlock.Open(redlocktest.URLs(masters), append(patient, opts...)...)
}

// withBoth runs f with such a Locker and its masters, and prints its error.
func withBoth(f func(ctx context.Context, locker *redlock.Locker, masters []*redlocktest.Master) error) {
	withMasters(func(ctx context.Context, masters []*redlocktest.Master) error {
		locker, err := open(masters)
		if err != nil {
			return err
		}
		defer locker.Close()
		return f(ctx, locker, masters)
	})
}

// withLocker is withBoth for examples that do nothing to the masters.
func withLocker(f func(ctx context.Context, locker *redlock.Locker) error) {
	withBoth(func(ctx context.Context, locker *redlock.Locker, _ []*redlocktest.Master) error {
		return f(ctx, locker)
	})
}

// report does its work under a lock on the Redis of a client that the program already has.
func report(ctx context.Context, client redis.UniversalClient, work func(context.Context) error) error {
	locker, err := redlock.Wrap(client) // a client of one server, Sentinel or a Cluster. Keep one Locker per program
	if err != nil {
		return err
	}
	defer locker.Close() // not the client
	return locker.Do(ctx, "nightly-report", work)
}

func ExampleWrap() {
	withMasters(func(ctx context.Context, masters []*redlocktest.Master) error {
		client := redis.NewClient(&redis.Options{Addr: strings.TrimPrefix(masters[0].URL(), "redis://")})
		defer client.Close()
		return report(ctx, client, func(context.Context) error {
			fmt.Println("held:", client.Exists(ctx, "nightly-report").Val() == 1)
			return nil
		})
	})
	// Output: held: true
}
