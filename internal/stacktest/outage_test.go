package stacktest_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/testmain"
)

const waitsForMajority = "waiting, since no majority of the masters answers"

// A call that waits because no majority answers is told of once, within two seconds, with the masters and the reason.
func TestAnOutageIsToldOnce(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var log logbook
		l := w.locker(t, "a", redlock.WithLogger(log.logger()))
		for outage := 1; outage <= 3; outage++ {
			w.Master(0).Freeze()
			w.Master(2).Freeze()
			_, err := l.TryLock(t.Context(), "x")
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
			_, err = l.Lock(within(t, time.Second), "x")
			require.Error(t, err)
			time.Sleep(10 * time.Second)
			require.Len(t, log.lines(waitsForMajority), outage-1, "nobody waits")
			for i := range 20 {
				go func() { _, _ = l.Lock(t.Context(), fmt.Sprint(i%10)) }()
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			said := log.lines(waitsForMajority)
			require.Len(t, said, outage)
			assert.Contains(t, said[outage-1], w.Addr(0))
			assert.Contains(t, said[outage-1], w.Addr(2))
			assert.NotContains(t, said[outage-1], w.Addr(1))
			assert.Contains(t, said[outage-1], "calls=20")
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Len(t, log.lines(waitsForMajority), outage)
			w.Heal()
			time.Sleep(time.Minute)
			synctest.Wait()
			assert.Len(t, log.lines("a majority of the masters answers again"), outage)
			require.NoError(t, l.Close())
			l = w.locker(t, "a", redlock.WithLogger(log.logger()))
		}
	})
}

// An outage that every waiting call gave up is over when a majority answers a TryLock, or after a minute.
func TestTheNextOutageIsToldToo(t *testing.T) {
	testmain.Each(t, map[string]bool{"a TryLock between": true, "nothing between": false}, func(t *testing.T, try bool) {
		bubble(t, 3, func(t *testing.T, w *world) {
			var log logbook
			l := w.locker(t, "a", redlock.WithLogger(log.logger()))
			w.warm(t, l)
			for outage := 1; outage <= 2; outage++ {
				w.outlasts(t, l, 10*time.Second)
				assert.Len(t, log.lines(waitsForMajority), outage)
				w.Heal()
				time.Sleep(30 * time.Second)
				if try {
					lk, err := l.TryLock(t.Context(), "x")
					require.NoError(t, err)
					unlock(t, lk)
					continue
				}
				time.Sleep(time.Minute)
			}
		})
	})
}

func TestWhatIsAnOutage(t *testing.T) {
	t.Parallel()
	quick := redlock.WithRetry(10*time.Millisecond, 100*time.Millisecond)
	late := &redlock.Trace{Vote: func(_ context.Context, e redlock.VoteEvent) {
		if e.Op == redlock.OpAcquire {
			time.Sleep(2 * time.Second)
		}
	}}
	for name, tt := range map[string]struct {
		opts         []redlock.Option
		happens      func(t *testing.T, w *world, l *redlock.Locker)
		began, ended int // how often the log says so
	}{
		"its callers gave up": {[]redlock.Option{quick}, func(t *testing.T, w *world, l *redlock.Locker) {
			w.warm(t, l)
			w.outlasts(t, l, 10*time.Second)
			time.Sleep(2 * time.Minute)
			w.outlasts(t, l, time.Second)
			time.Sleep(10 * time.Second)
			out := locking(t.Context(), l, "x")
			time.Sleep(200 * time.Millisecond)
			w.Heal()
			unlock(t, granted(t, out, 10*time.Second))
		}, 1, 1},
		// A pause between two attempts of one call does not begin another outage, also if other calls pause less.
		"a long pause": {
			[]redlock.Option{redlock.WithRetry(3*time.Minute, 5*time.Minute)}, func(t *testing.T, w *world, l *redlock.Locker) {
				w.warm(t, l)
				ctx := within(t, 10*time.Second)
				go func() { _, _ = l.Lock(ctx, "y", quick) }()
				w.outlasts(t, l, 20*time.Minute)
			}, 1, 0,
		},
		// Its first attempt takes a second to connect, and it says so within two seconds.
		"a call that connects": {nil, func(t *testing.T, w *world, l *redlock.Locker) {
			each(w.Masters(), func(m *simnet.Master) { m.BlackHole() })
			go func() { _, _ = l.Lock(t.Context(), "x") }()
			time.Sleep(2 * time.Second)
		}, 1, 0},
		"a lock that is over when the masters have granted it": {nil, func(t *testing.T, w *world, l *redlock.Locker) {
			w.delay(time.Millisecond)
			_, err := l.Lock(within(t, 10*time.Second), "x", redlock.WithMaxHold(time.Millisecond))
			require.ErrorIs(t, err, redlock.ErrNoQuorum)
		}, 0, 0},
		// As after a pause of the process.
		"grants that are too late for a fencing token": {
			[]redlock.Option{redlock.WithTrace(late), redlock.WithFencing()}, func(t *testing.T, _ *world, l *redlock.Locker) {
				_, err := l.Lock(within(t, 10*time.Second), "x")
				require.ErrorIs(t, err, redlock.ErrNoQuorum)
				require.ErrorContains(t, err, "too late for a fencing token")
			}, 0, 0,
		},
		// A majority answers again soon, if only that another client has the lock.
		"a denial": {[]redlock.Option{quick}, func(t *testing.T, w *world, l *redlock.Locker) {
			w.warm(t, l)
			w.foreign("x", time.Hour)
			for _, i := range []int{0, 2} {
				w.Master(i).Refuse()
				w.Master(i).Reset()
			}
			go func() { _, _ = l.Lock(within(t, time.Minute), "x") }()
			time.Sleep(500 * time.Millisecond)
			w.Heal()
			time.Sleep(time.Minute)
		}, 0, 0},
	} {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			var log logbook
			l := w.locker(t, "a", append(tt.opts, redlock.WithLogger(log.logger()))...)
			tt.happens(t, w, l)
			synctest.Wait()
			assert.Len(t, log.lines(waitsForMajority), tt.began)
			assert.Len(t, log.lines("a majority of the masters answers again"), tt.ended)
			w.Heal()
		})
	}
}

// A call that waits for a holder asks one master first, whose denial shows no majority. Its probes do.
func TestAProbeEndsAnOutage(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var log logbook
		l := w.locker(t, "a", redlock.WithLogger(log.logger()))
		_, err := w.locker(t, "b").Lock(t.Context(), "x")
		require.NoError(t, err)
		go func() { _, _ = l.Lock(within(t, time.Hour), "x") }()
		time.Sleep(10 * time.Second)
		for range 30 { // some do not reach an attempt for x
			w.Master(0).Freeze()
			w.Master(2).Freeze()
			_, err = l.Lock(within(t, 600*time.Millisecond), "y")
			require.Error(t, err)
			w.Heal()
			time.Sleep(10 * time.Second)
			require.Len(t, log.lines("a majority of the masters answers again"), len(log.lines(waitsForMajority)))
		}
	})
}

// outlasts freezes a majority. A Lock waits for it and gives up after d.
func (w *world) outlasts(t *testing.T, l *redlock.Locker, d time.Duration) {
	t.Helper()
	w.freeze()
	_, err := l.Lock(within(t, d), "x")
	require.ErrorIs(t, err, redlock.ErrNoQuorum)
}

// Without a logger, this is the only line, and it goes to slog.Default.
func TestAnOutageIsToldByDefault(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var log logbook
	slog.SetDefault(log.logger())
	bubble(t, 3, func(t *testing.T, w *world) {
		l, quiet := w.locker(t, "a"), w.locker(t, "b", redlock.WithLogger(slog.New(slog.DiscardHandler)))
		lock(t, l, "mine")
		w.Master(0).Freeze()
		w.Master(2).Freeze()
		go func() { _, _ = l.Lock(t.Context(), "x") }()
		go func() { _, _ = quiet.Lock(t.Context(), "x") }()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		assert.Len(t, log.lines(waitsForMajority), 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, log.lines(""), 1)
		w.Heal()
	})
}

// The number of locks does not multiply the lines of an outage, but each loss has its own.
func TestExtensionsThatFailAreToldOnce(t *testing.T) {
	t.Parallel()
	const locks = 100
	bubble(t, 3, func(t *testing.T, w *world) {
		var log logbook
		l := w.locker(t, "a", redlock.WithLogger(log.logger()))
		for i := range locks {
			lock(t, l, fmt.Sprint(i))
		}
		w.freeze()
		time.Sleep(2 * ttl)
		synctest.Wait()
		said := log.lines("could not be extended")
		require.Len(t, said, 1)
		assert.Contains(t, said[0], fmt.Sprintf("locks=%d", locks))
		assert.Len(t, log.lines("does not answer"), 2, "one for each master")
		assert.Len(t, log.lines("was lost"), locks)
		w.Heal()
		time.Sleep(time.Second)

		mine := lock(t, l, "x")
		w.freeze()
		time.Sleep(ttl / 2)
		w.Heal()
		time.Sleep(ttl)
		synctest.Wait()
		require.NoError(t, mine.Err())
		assert.Len(t, log.lines("could not be extended"), 2, "the next outage")
		assert.Len(t, log.lines("are extended again"), 1)
	})
}

// blocked is a handler that blocks until it is closed.
type blocked chan struct{}

func (b blocked) Enabled(context.Context, slog.Level) bool  { <-b; return true }
func (b blocked) Handle(context.Context, slog.Record) error { <-b; return nil }
func (b blocked) WithAttrs([]slog.Attr) slog.Handler        { return b }
func (b blocked) WithGroup(string) slog.Handler             { return b }

func TestABlockedLogHandlerDelaysNothing(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		handler := make(blocked)
		l := w.locker(t, "a", redlock.WithLogger(slog.New(handler)), redlock.WithNodeTimeout(50*time.Millisecond))
		held := lock(t, l, "held")
		w.Master(0).Freeze() // a line
		for i := range 10 {
			unlock(t, lock(t, l, fmt.Sprint(i)))
			require.NoError(t, held.Extend(t.Context()))
		}
		w.Master(1).Freeze() // another one
		began := time.Now()
		<-held.Context().Done()
		assert.False(t, time.Now().After(held.Until()))
		assert.Less(t, time.Since(began), ttl)
		began = time.Now()
		require.NoError(t, l.Close())
		assert.LessOrEqual(t, time.Since(began), time.Second+2*50*time.Millisecond)
		close(handler)
		w.Heal()
	})
}

// An event that repeats without end is written a number of times a minute.
func TestLinesThatRepeatAreBounded(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		var log logbook
		l := w.locker(t, "a", redlock.WithLogger(log.logger()))
		for range 200 {
			w.Master(0).Crash()
			unlock(t, lock(t, l, "x"))
			time.Sleep(100 * time.Millisecond)
			w.Master(0).Restart()
			time.Sleep(100 * time.Millisecond)
			unlock(t, lock(t, l, "x"))
			synctest.Wait()
		}
		n := len(log.lines("does not answer"))
		assert.Positive(t, n)
		assert.LessOrEqual(t, n, 21)
	})
}

// One lock's release affects no other lock of the Locker, also where every master hangs up at it.
func TestAReleaseAtWhichMastersHangUpAffectsNoOtherLock(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l := w.locker(t, "a")
		for _, m := range w.Masters() {
			m.HangUp(func(args []string) bool { return args[0] == "evalsha" && slices.Contains(args, "poison") })
		}
		healthy := lock(t, l, "healthy")
		_ = lock(t, l, "poison").Unlock(t.Context())
		failed, asked := 0, 0
		for end := time.Now().Add(2 * ttl); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			asked++
			lk, err := l.TryLock(t.Context(), fmt.Sprint("other-", asked))
			if err != nil {
				failed++
				continue
			}
			unlock(t, lk)
		}
		assert.LessOrEqual(t, failed, 1, "of %d TryLocks of other names", asked)
		require.NoError(t, healthy.Err())
		unlock(t, healthy)
	})
}

// An extension that the masters refuse says why, even if others fail already.
func TestARefusedExtensionSaysWhy(t *testing.T) {
	t.Parallel()
	bubble(t, 3, func(t *testing.T, w *world) {
		var log logbook
		l := w.locker(t, "a", redlock.WithLogger(log.logger()))
		lk := lock(t, l, "x")
		each(w.Masters(), (*simnet.Master).Freeze)
		time.Sleep(ttl / 2)
		w.Heal()
		w.refuseExtensions()
		time.Sleep(ttl)
		synctest.Wait()
		require.ErrorIs(t, lk.Err(), redlock.ErrLost)
		assert.ErrorContains(t, lk.Err(), "NOPERM")
		said := log.lines("could not be extended")
		require.Len(t, said, 2)
		assert.Contains(t, said[1], "NOPERM")
		w.Heal()
	})
}
