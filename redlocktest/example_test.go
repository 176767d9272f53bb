package redlocktest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

// inTest stands in for the t of a test function, which an example does not have.
type inTest struct {
	testing.TB
	cleanups []func()
}

func (*inTest) Helper()            {}
func (t *inTest) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

func (t *inTest) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

func ExampleStart() {
	t := &inTest{} // in a test: the *testing.T
	defer t.end()

	masters := redlocktest.Start(t, 3)

	for _, url := range redlocktest.URLs(masters) {
		opts, err := redis.ParseURL(url)
		if err != nil {
			panic(err)
		}
		client := redis.NewClient(opts)
		fmt.Println(client.Ping(context.Background()).Val())
		_ = client.Close()
	}
	// Output:
	// PONG
	// PONG
	// PONG
}

func ExampleMaster_Wipe() {
	t := &inTest{} // in a test: the *testing.T
	defer t.end()
	master := redlocktest.Start(t, 1)[0]
	opts, err := redis.ParseURL(master.URL())
	if err != nil {
		panic(err)
	}
	client := redis.NewClient(opts)
	defer client.Close()
	ctx := context.Background()

	client.SetNX(ctx, "name", "mine", time.Minute)
	fmt.Println("a second holder:", client.SetNX(ctx, "name", "yours", time.Minute).Val())
	master.Wipe()
	fmt.Println("after a wipe:", client.SetNX(ctx, "name", "yours", time.Minute).Val())
	// Output:
	// a second holder: false
	// after a wipe: true
}

func ExampleNewLocker() {
	t := &inTest{} // in a test: the *testing.T
	defer t.end()

	locker := redlocktest.NewLocker(t, 5)

	err := locker.Do(context.Background(), "orders:42", func(context.Context) error {
		_, err := locker.TryLock(context.Background(), "orders:42")
		fmt.Println("meanwhile:", errors.Is(err, redlock.ErrHeld))
		return nil
	})
	fmt.Println(err)
	// Output:
	// meanwhile: true
	// <nil>
}

func ExampleStartLocker() {
	t := &inTest{} // in a test: the *testing.T
	defer t.end()
	locker, masters := redlocktest.StartLocker(t, 3)

	for _, m := range masters {
		m.Refuse("OOM command not allowed when used memory > 'maxmemory'.")
	}
	_, err := locker.TryLock(context.Background(), "orders:42")
	fmt.Println(errors.Is(err, redlock.ErrNoQuorum))

	for _, m := range masters {
		m.Refuse("")
	}
	_, err = locker.Lock(context.Background(), "orders:42") // a moment later
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

func ExampleMaster_Hold() {
	t := &inTest{} // in a test: the *testing.T
	defer t.end()
	locker, masters := redlocktest.StartLocker(t, 3)

	for _, m := range masters {
		m.Hold("orders:42", time.Minute)
	}
	_, err := locker.TryLock(context.Background(), "orders:42")
	fmt.Println("held:", errors.Is(err, redlock.ErrHeld))

	for _, m := range masters {
		m.Release("orders:42")
	}
	_, err = locker.TryLock(context.Background(), "orders:42")
	fmt.Println("released:", err)
	// Output:
	// held: true
	// released: <nil>
}

func ExampleMaster_Slow() {
	t := &inTest{} // in a test: the *testing.T
	defer t.end()
	locker, masters := redlocktest.StartLocker(t, 3, redlock.WithNodeTimeout(time.Second))

	masters[0].Slow(5 * time.Second)
	_, err := locker.TryLock(context.Background(), "orders:42")
	fmt.Println("two of three in time:", err)

	masters[1].Slow(5 * time.Second)
	_, err = locker.TryLock(context.Background(), "orders:43")
	fmt.Println("one of three in time:", errors.Is(err, redlock.ErrNoQuorum))
	// Output:
	// two of three in time: <nil>
	// one of three in time: true
}

func ExampleMaster() {
	t := &inTest{} // in a test: the *testing.T
	defer t.end()
	masters := redlocktest.Start(t, 5)
	locker, err := redlock.Open(redlocktest.URLs(masters), redlock.WithNodeTimeout(time.Second))
	if err != nil {
		panic(err)
	}
	defer locker.Close()

	masters[0].Stop()   // crashed
	masters[1].Freeze() // silent
	lock, err := locker.TryLock(context.Background(), "orders:42")
	fmt.Println("three of five:", err)

	masters[2].Freeze()
	err = lock.Unlock(context.Background())
	fmt.Println("two of five:", errors.Is(err, redlock.ErrNoQuorum))
	// Output:
	// three of five: <nil>
	// two of five: true
}

func ExampleStartLocker_virtualTime() {
	runTest(func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			locker, masters := redlocktest.StartLocker(t, 3)
			for _, m := range masters {
				m.Hold("orders:42", time.Minute)
			}
			began := time.Now()
			err := locker.Do(t.Context(), "orders:42", func(context.Context) error {
				fmt.Println("waited:", time.Since(began).Round(time.Second))
				return nil
			})
			fmt.Println(errors.Is(err, redlock.ErrHeld), err)
		})
	})
	// Output:
	// waited: 1m0s
	// false <nil>
	// passed: true
}

// runTest runs a test within an example, and prints whether it passed. It prints the same with go test -v and -skip.
func runTest(test func(t *testing.T)) {
	for name, value := range map[string]string{"test.v": "false", "test.skip": ""} {
		option := flag.Lookup(name).Value
		was := option.String()
		_ = option.Set(value)
		defer func() { _ = option.Set(was) }()
	}
	passed := testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "Test", F: test}})
	fmt.Println("passed:", passed)
}
