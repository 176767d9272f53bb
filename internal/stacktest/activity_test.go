package stacktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// diary records the events of every acquisition.
type diary struct {
	mu     sync.Mutex
	events map[uint64][]string // by id
	ends   map[string]map[redlock.Outcome]int64
	wrong  []string // events whose context or fields are not those of the call
}

type callKey struct{}

// trace returns hooks that fill the diary. Every call has its own value of callKey in its context.
func (d *diary) trace() *redlock.Trace {
	d.events = make(map[uint64][]string)
	d.ends = map[string]map[redlock.Outcome]int64{"acquisition": {}, "hold": {}}
	note := func(ctx context.Context, e redlock.Event, event string) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.events[e.ID] = append(d.events[e.ID], event)
		if e.ID == 0 || e.Kind == "" || e.Name == "" || ctx.Value(callKey{}) == nil {
			d.wrong = append(d.wrong, fmt.Sprint(e, event, ctx))
		}
	}
	end := func(what string, o redlock.Outcome) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.ends[what][o]++
	}
	return &redlock.Trace{
		AcquireStart: func(ctx context.Context, e redlock.AcquireStartEvent) { note(ctx, e.Event, "start") },
		AcquireEnd: func(ctx context.Context, e redlock.AcquireEndEvent) {
			note(ctx, e.Event, string(e.Outcome))
			end("acquisition", e.Outcome)
			if (e.Outcome == redlock.OutcomeAcquired) != (e.Err == nil) {
				note(ctx, redlock.Event{}, fmt.Sprint(e.Outcome, e.Err))
			}
		},
		HoldEnd: func(ctx context.Context, e redlock.HoldEndEvent) {
			note(ctx, e.Event, "hold "+string(e.Outcome))
			end("hold", e.Outcome)
		},
		Waiting:  func(ctx context.Context, e redlock.WaitingEvent) { note(ctx, e.Event, "waiting") },
		Extended: func(ctx context.Context, e redlock.ExtendedEvent) { note(ctx, e.Event, "extended") },
		Unlocked: func(ctx context.Context, e redlock.UnlockedEvent) { note(ctx, e.Event, "unlocked") },
		Vote:     func(ctx context.Context, e redlock.VoteEvent) { note(ctx, e.Event, "vote") },
	}
}

// check checks that every acquisition has one end, and every hold another one after it.
func (d *diary) check(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	assert.Empty(t, d.wrong)
	for id, events := range d.events {
		var ends []string
		for _, e := range events {
			switch e {
			case "waiting", "extended", "unlocked", "vote":
			default:
				ends = append(ends, e)
			}
		}
		want := 2
		if len(ends) > 1 && ends[1] == "acquired" {
			want = 3
		}
		if assert.Len(t, ends, want, "%d: %v", id, events) {
			assert.Equal(t, "start", events[0], "%d: %v", id, events)
		}
		if len(ends) == 3 {
			assert.Contains(t, ends[2], "hold ", "%d: %v", id, events)
		}
	}
}

// assertAddsUp checks what the comment of LockStats says.
func assertAddsUp(t *testing.T, what string, s redlock.LockStats) {
	t.Helper()
	assert.Equal(t, s.Started, s.Waiting+s.Acquired+s.Refused+s.TimedOut+s.Canceled+s.Failed+s.ClosedWaiting, what)
	assert.Equal(t, s.Acquired, s.Waits.Count, what)
	assert.Equal(t, s.Acquired, s.Held+s.Released+s.HandedOver+s.Lost+s.ClosedHeld, what)
	assert.Equal(t, s.Acquired-s.Held, s.Holds.Count, what)
	for _, h := range []redlock.Histogram{s.Waits, s.Holds} {
		var n int64
		for _, c := range h.Counts {
			n += c
		}
		assert.Equal(t, h.Count, n, what)
		assert.Len(t, h.Counts, len(h.Bounds)+1)
	}
}

func assertSnapshotAddsUp(t *testing.T, s redlock.Stats) {
	t.Helper()
	assertAddsUp(t, "total", s.LockStats)
	var sum redlock.LockStats
	for _, k := range s.Kinds {
		assertAddsUp(t, string(k.Kind), k.LockStats)
		sum.Started, sum.Held, sum.Acquired = sum.Started+k.Started, sum.Held+k.Held, sum.Acquired+k.Acquired
	}
	assert.Equal(t, []int64{s.Started, s.Held, s.Acquired}, []int64{sum.Started, sum.Held, sum.Acquired})
}

// Callers of every kind come and go under faults until the Locker is closed. Every acquisition and every hold has
// exactly one end, and the counters add up at every moment.
func TestEveryAcquisitionAndEveryHoldHasOneEnd(t *testing.T) {
	t.Parallel()
	total := map[string]map[redlock.Outcome]int64{"acquisition": {}, "hold": {}}
	for seed := range uint64(8) {
		inWorld(t, 3, func(t *testing.T, w *world) {
			var d diary
			l := w.locker(t, "a", redlock.WithTTL(time.Second), redlock.WithTrace(d.trace()))
			other := w.locker(t, "b", redlock.WithTTL(time.Second))
			closed := make(chan struct{})
			var all sync.WaitGroup
			for i := range 12 {
				random := rand.New(rand.NewPCG(seed, uint64(i)))
				all.Go(func() {
					locker := l
					if i == 0 {
						locker = other
					}
					for n := 0; ; n++ {
						select {
						case <-closed:
							return
						default:
							use(context.WithValue(context.Background(), callKey{}, n), locker, random)
						}
					}
				})
			}
			all.Go(func() {
				for {
					select {
					case <-closed:
						return
					case <-time.After(7 * time.Millisecond):
						assertSnapshotAddsUp(t, l.Stats())
					}
				}
			})
			for range 4 {
				time.Sleep(2 * time.Second)
				w.Master(int(seed % 3)).Freeze()
				w.Master(int(seed+1) % 3).Stop()
				time.Sleep(3 * time.Second)
				w.Master(int(seed % 3)).Thaw()
				w.Master(int(seed+1) % 3).Start()
			}
			time.Sleep(2 * time.Second)
			require.NoError(t, l.Close())
			close(closed)
			all.Wait()
			synctest.Wait()
			s := l.Stats()
			assert.Zero(t, s.Waiting)
			assert.Zero(t, s.Held)
			assertSnapshotAddsUp(t, s)
			d.check(t)
			assert.Equal(t, d.ends["acquisition"], outcomes(map[redlock.Outcome]int64{
				redlock.OutcomeAcquired: s.Acquired, redlock.OutcomeRefused: s.Refused, redlock.OutcomeTimedOut: s.TimedOut,
				redlock.OutcomeCanceled: s.Canceled, redlock.OutcomeFailed: s.Failed, redlock.OutcomeClosed: s.ClosedWaiting,
			}))
			assert.Equal(t, d.ends["hold"], outcomes(map[redlock.Outcome]int64{
				redlock.OutcomeReleased: s.Released, redlock.OutcomeHandedOver: s.HandedOver,
				redlock.OutcomeLost: s.Lost, redlock.OutcomeClosed: s.ClosedHeld,
			}))
			for what, ends := range d.ends {
				for o, n := range ends {
					total[what][o] += n
				}
			}
		})
	}
	assert.Len(t, total["acquisition"], 6, "every outcome occurred: %v", total)
	assert.Len(t, total["hold"], 4, "every outcome occurred: %v", total)
}

// outcomes returns the counts that are not 0.
func outcomes(counts map[redlock.Outcome]int64) map[redlock.Outcome]int64 {
	for o, n := range counts {
		if n == 0 {
			delete(counts, o)
		}
	}
	return counts
}

// use acquires a lock in a random way, holds it for a while, and unlocks it.
func use(ctx context.Context, l *redlock.Locker, random *rand.Rand) {
	name := fmt.Sprint("name", random.IntN(2))
	limited, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(1500))*time.Millisecond)
	defer cancel()
	if random.IntN(4) == 0 {
		time.AfterFunc(time.Duration(random.IntN(100))*time.Millisecond, cancel)
	}
	lk, err := acquireSome(limited, l, name, random)
	if err != nil {
		time.Sleep(10 * time.Millisecond)
		return
	}
	switch random.IntN(6) {
	case 0:
		_ = lk.Extend(ctx)
	case 1:
		time.Sleep(3 * time.Second) // perhaps until it is lost
	}
	time.Sleep(time.Duration(random.IntN(30)) * time.Millisecond)
	_ = lk.Unlock(ctx)
}

func acquireSome(ctx context.Context, l *redlock.Locker, name string, random *rand.Rand) (*redlock.Lock, error) {
	var opts []redlock.LockOption
	if random.IntN(3) == 0 {
		opts = append(opts, redlock.WithoutKeepalive())
	}
	switch random.IntN(8) {
	case 0:
		return l.RW(name).RLock(ctx, opts...)
	case 1:
		return l.RW(name).Lock(ctx, opts...)
	case 2:
		return l.Reentrant(name, fmt.Sprint("owner", random.IntN(2))).Lock(ctx, opts...)
	case 3:
		return l.LockAll(ctx, []string{name, "another"}, opts...)
	case 4:
		return l.TryLock(ctx, name, opts...)
	default:
		return l.Lock(ctx, name, opts...)
	}
}

// Calls with invalid arguments are no acquisitions.
func TestInvalidArgumentsAreNotCounted(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		_, err := l.Lock(t.Context(), "")
		require.Error(t, err)
		_, err = l.Lock(t.Context(), "x", redlock.WithTTL(-1))
		require.Error(t, err)
		assert.Zero(t, l.Stats().Started)
	})
}

// The event of a hand-over comes before the next holder has the lock.
func TestTheEndOfAHoldComesBeforeTheNextHold(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string][]redlock.LockOption{"handed over": nil, "released": {redlock.WithoutHandOver()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 3, func(t *testing.T, w *world) {
				held, most := 0, 0
				l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{
					AcquireEnd: func(context.Context, redlock.AcquireEndEvent) { held++; most = max(most, held) },
					HoldEnd:    func(context.Context, redlock.HoldEndEvent) { held-- },
				}))
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() {
						for range 20 {
							lk, err := l.Lock(t.Context(), "x", opt...)
							if assert.NoError(t, err) {
								time.Sleep(time.Millisecond)
								assert.NoError(t, lk.Unlock(t.Context()))
							}
						}
					})
				}
				all.Wait()
				assert.Equal(t, 1, most)
				assert.Zero(t, held)
			})
		})
	}
}

// A lock that ends by itself has its events with the values of the caller's context, which has ended.
func TestEventsAfterTheCallKeepTheValuesOfItsContext(t *testing.T) {
	t.Parallel()
	inWorld(t, 3, func(t *testing.T, w *world) {
		var got error
		var held time.Duration
		l := w.locker(t, "a", redlock.WithTrace(&redlock.Trace{HoldEnd: func(ctx context.Context, e redlock.HoldEndEvent) {
			assert.NoError(t, ctx.Err())
			assert.Equal(t, 7, ctx.Value(callKey{}))
			got, held = e.Err, e.Held
		}}))
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), callKey{}, 7))
		lk, err := l.Lock(ctx, "x", redlock.WithoutKeepalive())
		require.NoError(t, err)
		cancel()
		time.Sleep(ttl)
		synctest.Wait()
		assert.ErrorIs(t, got, redlock.ErrLost)
		assert.Equal(t, lk.Err(), got)
		assert.InDelta(t, float64(ttl-drift), float64(held), float64(2*time.Millisecond))
		assert.ErrorIs(t, lk.Unlock(t.Context()), redlock.ErrLost)
		assert.EqualValues(t, 1, l.Stats().Lost)
		assert.Zero(t, l.Stats().Released)
	})
}
