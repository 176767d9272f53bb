package redlocktest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

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
