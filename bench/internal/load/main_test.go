package load

import (
	"context"
	"sync"
	"time"
)

// fake is a pairer of known behavior.
type fake struct {
	lock, unlock time.Duration
	fail         func(pair int) error

	mu    sync.Mutex
	pairs int
	names map[string]int // how often at once, to see that names are distinct
	twice []string
	slow  map[int]time.Duration // extra time of the n-th pair
}

func (f *fake) Pair(ctx context.Context, name string) (Timestamps, error) {
	n := f.enter(name)
	defer f.leave(name)
	time.Sleep(f.lock)
	locked := Timestamps{Locked: time.Now()}
	time.Sleep(f.unlock + f.slow[n])
	if f.fail != nil {
		return locked, f.fail(n)
	}
	return locked, ctx.Err()
}

func (f *fake) enter(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.names == nil {
		f.names = map[string]int{}
	}
	if f.names[name]++; f.names[name] > 1 {
		f.twice = append(f.twice, name)
	}
	f.pairs++
	return f.pairs
}

func (f *fake) leave(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.names[name]--
}

func (*fake) Close() error { return nil }
