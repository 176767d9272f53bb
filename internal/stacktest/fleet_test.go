package stacktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// fleet is clients that take one lock in turns.
type fleet struct {
	mu                     sync.Mutex
	inside, overlaps, held int
	last                   uint64 // fencing token
	disorder               int
	clients                []func() // stop them
}

// start adds a client with a list of masters.
func (f *fleet) start(t *testing.T, w *world, host string, list []int) {
	t.Helper()
	h := w.Host(host)
	locker, err := redlock.New(
		w.nodes(t, host, w.list(list)...), redlock.WithClock(h.Clock()), redlock.WithOwner(host), redlock.WithFencing(),
	)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			if l, err := locker.TryLock(ctx, "job"); err == nil {
				f.work(l)
			}
			time.Sleep(rand.N(300 * time.Millisecond))
		}
	})
	f.clients = append(f.clients, func() {
		cancel()
		done.Wait()
		assert.NoError(t, locker.Close())
	})
}

// work is what must not be done by two.
func (f *fleet) work(l *redlock.Lock) {
	f.mu.Lock()
	f.held++
	if f.inside++; f.inside > 1 {
		f.overlaps++
	}
	if l.Fence() <= f.last {
		f.disorder++
	}
	f.last = max(f.last, l.Fence())
	f.mu.Unlock()
	select {
	case <-time.After(rand.N(100 * time.Millisecond)):
	case <-l.Context().Done():
	}
	f.mu.Lock()
	f.inside--
	f.mu.Unlock()
	_ = l.Unlock(context.Background())
}

// progress waits until the lock was had some times more, and fails the test if that takes too long.
func (f *fleet) progress(t *testing.T, when string) {
	t.Helper()
	before := f.count(&f.held)
	f.await(t, func() bool { return f.count(&f.held) >= before+8 }, "no client gets the lock "+when)
}

func (f *fleet) await(t *testing.T, condition func() bool, otherwise string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); !condition(); time.Sleep(50 * time.Millisecond) {
		require.True(t, time.Now().Before(end), otherwise)
	}
}

func (f *fleet) count(what *int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return *what
}

// course lets a fleet of four change its list of masters, one client after the other, and returns it. careful: as
// docs/masters.md says; else all masters run throughout, and it waits for two holders.
func (c change) course(t *testing.T, careful bool) *fleet {
	f := &fleet{}
	inWorld(t, migrating, func(t *testing.T, w *world) {
		off := c.off
		if !careful {
			off = nil
		}
		// Each host is near the masters of one of two majorities that do not meet.
		old, next := c.apart(nil, nil)
		hosts := []string{"new 1", "new 2", "old 1", "old 2"}
		for _, host := range hosts {
			near := old
			if strings.HasPrefix(host, "new") {
				near = next
			}
			for _, m := range w.Masters() {
				way := 60 * time.Millisecond
				if slices.Contains(near, m.Index()) {
					way = time.Millisecond
				}
				w.Host(host).To(m.Index()).Delay(way, way/2)
			}
		}

		w.begin(without([]int{0, 1, 2, 3, 4, 5}, c.from))
		for _, host := range hosts {
			f.start(t, w, host, c.from)
		}
		f.progress(t, "before the change")
		for _, m := range c.gone() {
			if slices.Contains(off, m) {
				w.Master(m).Crash()
			}
		}
		for _, m := range without(c.new(), off) {
			w.Master(m).Restart()
		}
		time.Sleep(window + time.Second) // and a second, because masters report their uptime in whole ones
		for i, host := range hosts {
			f.clients[i]()
			f.start(t, w, host, c.to)
			f.progress(t, "during the change")
			if !careful && i == 1 {
				f.await(
					t, func() bool { return f.count(&f.overlaps) > 0 }, "the control: two lists, all masters run, and no two holders",
				)
			}
		}
		for _, m := range without(off, c.gone()) {
			w.Master(m).Restart()
		}
		f.progress(t, "after the change")
		for _, stop := range f.clients[len(hosts):] {
			stop()
		}
	})
	return f
}

func TestAFleetChangesItsMasters(t *testing.T) {
	t.Parallel()
	for _, c := range changes(t) {
		t.Run(c.name, func(t *testing.T) {
			f := c.course(t, true)
			assert.Zero(t, f.overlaps, "of %d", f.held)
			assert.Zero(t, f.disorder, "fencing tokens that were not larger than those before, of %d", f.held)

			c.course(t, false)
		})
	}
}

// both is docs/masters.md's, word for word; readme_test.go compares them.
func both(ctx context.Context, old, next *redlock.Locker, name string, fn func(context.Context) error) error {
	return old.Do(ctx, name, func(ctx context.Context) error {
		return next.Do(ctx, name, fn) // always in this order, or two wait for each other
	})
}

func TestBothListsAtOnce(t *testing.T) {
	t.Parallel()
	type taking func(ctx context.Context, old, next *redlock.Locker, fn func(context.Context) error) error
	first := func(ctx context.Context, old, _ *redlock.Locker, fn func(context.Context) error) error {
		return old.Do(ctx, "job", fn)
	}
	second := func(ctx context.Context, old, next *redlock.Locker, fn func(context.Context) error) error {
		return both(ctx, old, next, "job", fn)
	}
	third := func(ctx context.Context, _, next *redlock.Locker, fn func(context.Context) error) error {
		return next.Do(ctx, "job", fn)
	}
	for _, stage := range []struct {
		name     string
		fleet    []taking
		excludes bool
	}{
		{"old and both", []taking{first, first, second, second}, true},
		{"both", []taking{second, second, second, second}, true},
		{"both and new", []taking{second, second, third, third}, true},
		{"old and new, the control", []taking{first, first, third, third}, false},
	} {
		inWorld(t, migrating, func(t *testing.T, w *world) {
			var mu sync.Mutex
			var inside, overlaps int
			var done sync.WaitGroup
			for i, take := range stage.fleet {
				host := fmt.Sprint("host ", i)
				old := w.over(t, host, w.nodes(t, host, w.list([]int{0, 1, 2})...))
				next := w.over(t, host, w.nodes(t, host, w.list([]int{3, 4, 5})...))
				done.Go(func() {
					for range 10 {
						err := take(within(t, time.Hour), old, next, func(context.Context) error {
							mu.Lock()
							if inside++; inside > 1 {
								overlaps++
							}
							mu.Unlock()
							time.Sleep(rand.N(200 * time.Millisecond))
							mu.Lock()
							inside--
							mu.Unlock()
							return nil
						})
						assert.NoError(t, err)
					}
				})
			}
			done.Wait()
			assert.Equal(t, stage.excludes, overlaps == 0, "%s: %d overlaps", stage.name, overlaps)
		})
	}
}
