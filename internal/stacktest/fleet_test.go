package stacktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// both is docs/masters.md's, word for word; docs_test.go compares them.
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
		bubble(t, migrating, func(t *testing.T, w *world) {
			var inside, overlaps atomic.Int32
			var done sync.WaitGroup
			for i, take := range stage.fleet {
				host := fmt.Sprint("host ", i)
				old := w.over(t, host, w.nodes(t, host, w.list([]int{0, 1, 2})...))
				next := w.over(t, host, w.nodes(t, host, w.list([]int{3, 4, 5})...))
				done.Go(func() {
					for range 10 {
						err := take(within(t, time.Hour), old, next, func(context.Context) error {
							if inside.Add(1) > 1 {
								overlaps.Add(1)
							}
							time.Sleep(rand.N(200 * time.Millisecond))
							inside.Add(-1)
							return nil
						})
						assert.NoError(t, err)
					}
				})
			}
			done.Wait()
			assert.Equal(t, stage.excludes, overlaps.Load() == 0, "%s: %d overlaps", stage.name, overlaps.Load())
		})
	}
}

// A change is a row of the table in docs/masters.md: clients with the list from are replaced, one by one, by clients
// with the list to. Masters are counted from 0.
type change struct {
	name          string
	from, to, off []int // off do not run while both lists are in use
}

// changes are the rows of the table.
func changes(t *testing.T) []change {
	t.Helper()
	page, err := os.ReadFile("../../docs/masters.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "| change | from | to | does not run meanwhile |")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	var all []change
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|-]+) \| ([A-F ]+) \| ([A-F ]+) \| ([A-F ]+) \|`).
		FindAllStringSubmatch(table, -1) {
		all = append(all, change{row[1], numbered(row[2]), numbered(row[3]), numbered(row[4])})
	}
	require.Len(t, all, strings.Count(table, "\n|")-1, "rows below the rule")
	return all
}

// numbered makes 0, 1, 4 of "A B E".
func numbered(letters string) (masters []int) {
	for _, letter := range strings.Fields(letters) {
		masters = append(masters, int(letter[0]-'A'))
	}
	return masters
}

const migrating = 6 // masters there are, A to F

// new, gone: what is on one of the lists only.
func (c change) new() []int  { return without(c.to, c.from) }
func (c change) gone() []int { return without(c.from, c.to) }

func without(list, not []int) (rest []int) {
	for _, m := range list {
		if !slices.Contains(not, m) {
			rest = append(rest, m)
		}
	}
	return rest
}

// majorities are the majorities of a list that can be had while the masters off do not run.
func majorities(list, off []int) (all [][]int) {
	running := without(list, off)
	need := len(list)/2 + 1
	for set := range 1 << len(running) {
		var chosen []int
		for i, m := range running {
			if set&(1<<i) != 0 {
				chosen = append(chosen, m)
			}
		}
		if len(chosen) == need {
			all = append(all, chosen)
		}
	}
	return all
}

// apart are majorities of the two lists that share no master: two holders. It is nil if there are none.
func (c change) apart(fromOff, toOff []int) (old, next []int) {
	for _, old := range majorities(c.from, fromOff) {
		for _, next := range majorities(c.to, toOff) {
			if len(without(old, next)) == len(old) {
				return old, next
			}
		}
	}
	return nil, nil
}

func TestEveryMajorityOfOneListMeetsEveryOneOfTheNext(t *testing.T) {
	t.Parallel()
	for _, c := range changes(t) {
		require.NotEmpty(t, majorities(c.from, c.off), c.name)
		require.NotEmpty(t, majorities(c.to, c.off), c.name)
		old, next := c.apart(c.off, c.off)
		assert.Nil(t, old, "%s: %v and %v", c.name, old, next)
		// The control: with all of them running there are two that do not meet, so the masters that do not are needed.
		for _, on := range c.off {
			old, _ := c.apart(without(c.off, []int{on}), without(c.off, []int{on}))
			assert.NotNil(t, old, "%s: master %d may run as well", c.name, on)
		}
	}
}

// stop takes masters down, and restart starts them empty.
func (w *world) stop(masters []int) {
	for _, m := range masters {
		w.Master(m).Crash()
	}
}

func (w *world) restart(masters []int) {
	for _, m := range masters {
		w.Master(m).Restart()
	}
}

// list are the URLs of masters.
func (w *world) list(masters []int) (urls []string) {
	for _, m := range masters {
		urls = append(urls, w.Master(m).URL())
	}
	return urls
}

// reaching is a Locker with a list, on a host that reaches only some of them.
func (w *world) reaching(t *testing.T, list, reached []int, opts ...redlock.Option) *redlock.Locker {
	t.Helper()
	host := fmt.Sprint("host of ", list, " reaching ", reached)
	for _, m := range w.Masters() {
		if !slices.Contains(reached, m.Index()) {
			w.Host(host).To(m.Index()).BlackHole()
		}
	}
	return w.over(t, host, w.nodes(t, host, w.list(list)...), opts...)
}

// twoHolders has a client of the old list lock on the masters old and disappear in the middle of the change, does a
// step, and has a client of the new list lock on the masters next. It returns whether both have the lock then.
func (c change) twoHolders(t *testing.T, old, next []int, step func(w *world), opts ...redlock.Option) (two bool) {
	t.Helper()
	bubble(t, migrating, func(t *testing.T, w *world) {
		w.stop(without([]int{0, 1, 2, 3, 4, 5}, slices.Concat(c.from, without(c.to, c.off))))
		first := lock(t, w.reaching(t, c.from, old), "job", redlock.WithoutKeepalive(), redlock.WithFencing())
		step(w)
		second, err := w.reaching(t, c.to, next, opts...).Lock(within(t, time.Minute), "job", redlock.WithFencing())
		require.NoError(t, err, c.name)
		two = time.Now().Before(first.Until())
		assert.Equal(t, two, first.Err() == nil, c.name)
		if !two {
			assert.Greater(t, second.Fence(), first.Fence(), c.name)
		}
		unlock(t, second)
	})
	return two
}

// When a client of the new list may lock after one of the old list: after the masters that stop first have been stopped
// for a TTL; with the masters that are started last, however early they are started; and with a new master that was
// started after the old one had stopped, at once. The restart windows are that.
func TestWhenTheNextListMayLock(t *testing.T) {
	t.Parallel()
	for _, c := range changes(t) {
		stopped, last := without(c.off, without(c.to, c.from)), without(c.off, c.gone())
		start := func(w *world) { w.restart(last) }
		if len(last) > 0 {
			old, next := c.apart(c.off, nil)
			require.NotNil(t, old)
			assert.False(t, c.twoHolders(t, old, next, start), c.name)
			assert.True(t, c.twoHolders(t, old, next, start, redlock.WithoutRestartGuard()), "%s, the control", c.name)
		}
		old, next := c.apart(nil, c.off)
		if len(stopped) > 0 {
			require.NotNil(t, old)
			assert.False(t, c.twoHolders(t, old, next, func(w *world) { w.stop(stopped); time.Sleep(ttl) }), c.name)
			assert.True(t, c.twoHolders(t, old, next, func(w *world) { w.stop(stopped) }), "%s, the control", c.name)
		}
		if len(c.new()) == 1 && len(c.gone()) == 1 {
			assert.False(t, c.twoHolders(t, old, next, func(w *world) { w.stop(c.gone()); w.restart(c.new()) }), c.name)
			assert.True(t, c.twoHolders(t, old, next, func(w *world) { w.stop(c.gone()) }),
				"%s: the new one has been running idle for long", c.name)
		}
	}
}
