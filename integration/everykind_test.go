package integration_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/redisbox"
)

// holding is a lock of one kind.
type holding struct {
	kind
	name string // that is locked
	lock *redlock.Lock
}

// one makes a holding of every kind, each with a name of its own, and takes none.
func one(prefix string) (all []*holding) {
	for _, k := range kinds() {
		all = append(all, &holding{kind: k, name: prefix + ":" + strings.ReplaceAll(k.name, " ", "-")})
	}
	return all
}

// each does something with all of them at once.
func each(t *testing.T, all []*holding, what string, f func(ctx context.Context, h *holding) error) {
	t.Helper()
	ctx := within(t, patience)
	var done sync.WaitGroup
	for _, h := range all {
		done.Go(func() { assert.NoError(t, f(ctx, h), "%s: %s", what, h.name) })
	}
	done.Wait()
	require.False(t, t.Failed())
}

func take(l *redlock.Locker, opts ...redlock.LockOption) func(context.Context, *holding) error {
	return func(ctx context.Context, h *holding) (err error) {
		h.lock, err = h.try(ctx, l, h.name, opts...)
		if err == nil && h.fenced() != (h.lock.Fence() > 0) {
			err = fmt.Errorf("its fencing token is %d", h.lock.Fence())
		}
		return err
	}
}

func extend(ctx context.Context, h *holding) error { return h.lock.Extend(ctx) }

func giveBack(ctx context.Context, h *holding) error { return h.lock.Unlock(ctx) }

// keepOut has another try to get the name, in every way that excludes the holder. It asks again while too few masters
// answer: some are slow on a busy machine, and only ErrHeld says that the holder is in the way.
func keepOut(others *redlock.Locker) func(context.Context, *holding) error {
	return func(ctx context.Context, h *holding) error {
		for _, k := range kinds() {
			if (k.is == "reader" && h.is == "reader") || (k.is == "reentrant" && h.is == "reentrant") {
				continue // readers with readers; an owner with itself
			}
			err := redlock.ErrNoQuorum
			for errors.Is(err, redlock.ErrNoQuorum) && ctx.Err() == nil {
				_, err = k.try(ctx, others, h.name)
			}
			if err == nil {
				return fmt.Errorf("a %s got in", k.name)
			}
			if !errors.Is(err, redlock.ErrHeld) {
				return fmt.Errorf("a %s: %w", k.name, err)
			}
		}
		return nil
	}
}

// onlyFences returns an error that shows what is left on masters. Fencing tokens may be, if they end some day.
func onlyFences(t *testing.T, masters ...*redisbox.Master) error {
	t.Helper()
	for _, m := range masters {
		for _, key := range ask(t, m, "KEYS", "*").([]any) {
			if !strings.HasPrefix(key.(string), "redlock:fence:") {
				return fmt.Errorf("%s has %s (%s)", m, key, ask(t, m, "TYPE", key))
			}
			if ttl := ask(t, m, "PTTL", key).(int64); ttl < 0 {
				return fmt.Errorf("%s has %s without a TTL", m, key)
			}
		}
	}
	return nil
}

// requireOnlyFences waits until nothing but fencing tokens is left on masters, and fails the test if something is four
// seconds after the last fault, or comes later: what was sent before may still be on its way.
func requireOnlyFences(t *testing.T, masters ...*redisbox.Master) {
	t.Helper()
	eventually(t, settled, func() error { return onlyFences(t, masters...) })
	for end := time.Now().Add(2 * outlast); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		require.NoError(t, onlyFences(t, masters...))
	}
	fences := 0
	for _, m := range masters {
		fences += len(ask(t, m, "KEYS", "redlock:fence:*").([]any))
	}
	assert.NotZero(t, fences, "the control: there were fencing tokens")
}

// requireFence fails the test if a holding's fencing token does not follow the last one. A reader's may be the same.
func requireFence(t *testing.T, h *holding, last uint64) {
	t.Helper()
	switch {
	case !h.fenced():
	case h.is == "reader":
		require.GreaterOrEqual(t, h.lock.Fence(), last, h.name)
	default:
		require.Greater(t, h.lock.Fence(), last, h.name)
	}
}

// requireQuiet waits until a master has carried out all that it was sent.
func requireQuiet(t *testing.T, m *redisbox.Master) {
	t.Helper()
	before := ""
	eventually(t, settled, func() error {
		calls := regexp.MustCompile(`cmdstat_evalsha:calls=\d+`).FindString(ask(t, m, "INFO", "commandstats").(string))
		if was := before; was != calls || was == "" {
			before = calls
			return fmt.Errorf("%s is still busy: %s", m, calls)
		}
		return nil
	})
}

// disagree gives three of the five masters counts of fencing tokens that differ, so that each token to come has to be
// written back. Every majority has one of them; it returns the least.
func disagree(t *testing.T, all []*holding, masters ...*redisbox.Master) (least uint64) {
	t.Helper()
	require.Len(t, masters, 3)
	least = uint64(time.Now().Add(time.Hour).UnixMicro())
	for _, h := range all {
		for i, m := range masters {
			if h.fenced() {
				key := "redlock:fence:{" + h.name + "}"
				ask(t, m, "SET", key, least+uint64(i), "PX", time.Hour.Milliseconds())
			}
		}
	}
	return least
}

func TestEveryKindWithTwoOfFiveKilled(t *testing.T) {
	masters := masters(t)
	ours, others := open(t, masters), open(t, masters)
	before, during := one("before"), one("during")
	each(t, before, "lock", take(ours))
	each(t, during, "lock", take(ours))
	fences := make(map[string]uint64)
	for _, h := range during {
		fences[h.name] = h.lock.Fence()
	}
	each(t, during, "unlock", giveBack)

	all(t, (*redisbox.Master).Kill, masters[0], masters[1])
	for range 2 {
		each(t, during, "lock", take(ours))
		for _, h := range during {
			requireFence(t, h, fences[h.name])
			fences[h.name] = h.lock.Fence()
		}
		each(t, during, "extend", extend)
		each(t, during, "keep out", keepOut(others))
		each(t, during, "unlock", giveBack)
	}

	each(t, before, "live on past the TTL", func(ctx context.Context, h *holding) error {
		ctx, cancel := context.WithTimeout(ctx, ttl+ttl/2)
		defer cancel()
		if _, err := others.Lock(ctx, h.name); err == nil {
			return errors.New("another got it")
		} else if !errors.Is(err, redlock.ErrHeld) && !errors.Is(err, redlock.ErrNoQuorum) { // masters may be slow in the end
			return err
		}
		return h.lock.Err()
	})
	each(t, before, "unlock", giveBack)
	requireOnlyFences(t, masters[2:]...)
	all(t, (*redisbox.Master).Start, masters[0], masters[1])
	requireOnlyFences(t, masters...)
}

// One master freezes with an operation of each kind in its socket buffer, and carries it out when it wakes, late. All
// TTLs are longer than the test, so no key goes away by itself.
func TestEveryKindWithOneFrozenInTheMiddle(t *testing.T) {
	masters := masters(t)
	frozen := masters[2]
	ours, others := openLong(t, masters), openLong(t, masters)
	warm := one("warm") // connected, with all scripts
	each(t, warm, "lock", take(ours))
	each(t, warm, "keep out", keepOut(others))
	each(t, warm, "unlock", giveBack)

	steps := []struct {
		name string
		do   func(context.Context, *holding) error
	}{
		{"lock", take(ours, redlock.WithoutKeepalive())},
		{"extend", extend},
		{"unlock", giveBack},
	}
	// Frozen during one operation, or from the first to the last.
	for _, during := range []struct{ from, to int }{{0, 0}, {1, 1}, {2, 2}, {0, 2}} {
		t.Run(fmt.Sprintf("from %s to %s", steps[during.from].name, steps[during.to].name), func(t *testing.T) {
			locks := one(fmt.Sprintf("from:%d:to:%d", during.from, during.to))
			least := disagree(t, locks, masters[0], masters[1], masters[3])
			for i, step := range steps {
				if i == during.from {
					requireQuiet(t, frozen)
					ask(t, frozen, "CONFIG", "RESETSTAT")
					all(t, (*redisbox.Master).Freeze, frozen)
				}
				each(t, locks, step.name, step.do)
				if step.name == "extend" {
					each(t, locks, "keep out", keepOut(others))
				}
				if i == during.to {
					time.Sleep(outlast)
					all(t, (*redisbox.Master).Restore, frozen)
					eventually(t, settled, func() error {
						if stats := ask(t, frozen, "INFO", "commandstats").(string); !strings.Contains(stats, "cmdstat_evalsha:") {
							return fmt.Errorf("the control: nothing was in its buffer when it woke: %s", stats)
						}
						return nil
					})
				}
			}
			for _, h := range locks {
				requireFence(t, h, least)
			}
		})
	}
	requireOnlyFences(t, masters...)
}

// With two of five lost and a third one frozen there is no majority. What is held stays held, and what
// could not be done is made up for when the third one wakes.
func TestEveryKindWithTwoOfFiveKilledAndOneFrozen(t *testing.T) {
	masters := masters(t)
	ours := openLong(t, masters)
	held := one("held")
	each(t, held, "lock", take(ours, redlock.WithoutKeepalive()))
	all(t, (*redisbox.Master).Kill, masters[0], masters[1])
	each(t, held, "extend", extend)

	all(t, (*redisbox.Master).Freeze, masters[2])
	none := func(f func(context.Context, *holding) error) func(context.Context, *holding) error {
		return func(ctx context.Context, h *holding) error {
			if err := f(ctx, h); !errors.Is(err, redlock.ErrNoQuorum) {
				return fmt.Errorf("not ErrNoQuorum: %w", err)
			}
			return nil
		}
	}
	each(t, held, "lock another", none(func(ctx context.Context, h *holding) error {
		_, err := h.try(ctx, ours, "another:"+h.name)
		return err
	}))
	each(t, held, "extend", none(extend))
	each(t, held, "be held still", func(_ context.Context, h *holding) error { return h.lock.Err() })
	each(t, held, "unlock", none(giveBack))
	time.Sleep(outlast)
	all(t, (*redisbox.Master).Restore, masters[2])
	requireOnlyFences(t, masters[2:]...)
}
