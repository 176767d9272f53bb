// Command oversell shows why locks are needed: many buyers, one stock. It sells first without a lock, and sells more
// than there is; then under a lock, from several servers that share nothing but the masters.
//
//	go run ./examples/oversell
//
// The masters are five in this process, or those in REDLOCK_MASTERS.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/embedded"
)

const (
	stock   = 10
	servers = 4
	buyers  = 40 // in all
	payment = 2 * time.Millisecond
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oversell:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, opts ...redlock.Option) error {
	urls := strings.FieldsFunc(os.Getenv("REDLOCK_MASTERS"), func(r rune) bool { return r == ',' })
	if len(urls) == 0 {
		masters, err := embedded.OpenAll(5)
		if err != nil {
			return err
		}
		defer embedded.CloseAll(masters)
		urls = embedded.URLs(masters)
	}
	fmt.Fprintf(out, "%d in stock, %d buyers on %d servers\n", stock, buyers, servers)
	naive := sale(without)
	fmt.Fprintf(out, "without a lock: %d sold, %d more than there were\n", naive.sold, naive.sold-stock)
	locked, err := saleUnderLock(ctx, urls, opts...)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		out,
		"with a lock:    %d sold, %d left, %d buyers were told that it is sold out\n",
		locked.sold,
		locked.left,
		locked.refused,
	)
	return nil
}

// warehouse is a database with one number in it. Each read and each write is sound by itself.
type warehouse struct {
	mu   sync.Mutex
	left int
}

func (w *warehouse) read() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.left
}

func (w *warehouse) write(left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = left
}

// sell is right for one buyer at a time: what it read is old by the time it writes.
func (w *warehouse) sell() (sold bool) {
	left := w.read()
	if left == 0 {
		return false
	}
	time.Sleep(payment)
	w.write(left - 1)
	return true
}

// without sells without a lock.
func without(_ int, w *warehouse) (bool, error) { return w.sell(), nil }

// under sells under a lock of the server that the buyer came to.
func under(ctx context.Context, lockers []*redlock.Locker) func(int, *warehouse) (bool, error) {
	return func(buyer int, w *warehouse) (sold bool, err error) {
		locker := lockers[buyer%len(lockers)]
		err = locker.Do(ctx, "stock:pan", func(ctx context.Context) error {
			if err := ctx.Err(); err != nil {
				return err // the lock is lost already
			}
			sold = w.sell()
			return nil
		})
		return sold, err
	}
}

// result is how a sale ended.
type result struct {
	sold, refused, left int
	err                 error // the first
}

// sale lets all buyers buy at once.
func sale(buy func(buyer int, w *warehouse) (sold bool, err error)) result {
	w := &warehouse{left: stock}
	var r result
	var mu sync.Mutex
	var crowd sync.WaitGroup
	for buyer := range buyers {
		crowd.Go(func() {
			sold, err := buy(buyer, w)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case sold:
				r.sold++
			case err == nil:
				r.refused++
			}
			if r.err == nil {
				r.err = err
			}
		})
	}
	crowd.Wait()
	r.left = w.read()
	return r
}

// saleUnderLock is a sale from several servers, each with a Locker of its own.
func saleUnderLock(ctx context.Context, urls []string, opts ...redlock.Option) (result, error) {
	var lockers []*redlock.Locker
	for range servers {
		locker, err := redlock.Open(urls, opts...)
		if err != nil {
			return result{}, err
		}
		defer locker.Close()
		lockers = append(lockers, locker)
	}
	r := sale(under(ctx, lockers))
	return r, r.err
}
