package stacktest_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

const (
	waitsForMajority = "waiting, since no majority of the masters answers"
	answersAgain     = "a majority of the masters answers again"
)

// A call that waits because no majority answers is told of once, within two seconds, with the masters and the reason.
func TestAnOutageIsToldOnce(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l, log := w.logged(t, "a")
		w.freeze()
		_, err := l.TryLock(t.Context(), "x")
		require.ErrorIs(t, err, redlock.ErrNoQuorum)
		_, err = l.Lock(within(t, time.Second), "x")
		require.Error(t, err)
		time.Sleep(10 * time.Second)
		require.Empty(t, log.lines(waitsForMajority), "nobody waits")
		for i := range 20 {
			go func() { _, _ = l.Lock(t.Context(), fmt.Sprint(i%10)) }()
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		said := log.lines(waitsForMajority)
		require.Len(t, said, 1)
		assert.Contains(t, said[0], w.Addr(0))
		assert.Contains(t, said[0], w.Addr(1))
		assert.NotContains(t, said[0], w.Addr(2))
		assert.Contains(t, said[0], "calls=20")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, log.lines(waitsForMajority), 1)
		w.Heal()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Len(t, log.lines(answersAgain), 1)
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
		// An outage that every waiting call gave up is over when a majority answers a TryLock, or after a minute.
		"the next one, after a TryLock": {nil, func(t *testing.T, w *world, l *redlock.Locker) {
			w.warm(t, l)
			w.outlasts(t, l, 10*time.Second)
			w.Heal()
			time.Sleep(30 * time.Second)
			unlock(t, lock(t, l, "x"))
			w.outlasts(t, l, 10*time.Second)
		}, 2, 1},
		"the next one, after 90 seconds": {nil, func(t *testing.T, w *world, l *redlock.Locker) {
			w.warm(t, l)
			w.outlasts(t, l, 10*time.Second)
			w.Heal()
			time.Sleep(90 * time.Second)
			w.outlasts(t, l, 10*time.Second)
		}, 2, 0},
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
			each(w.some(0, 2), refuse)
			go func() { _, _ = l.Lock(within(t, time.Minute), "x") }()
			time.Sleep(500 * time.Millisecond)
			w.Heal()
			time.Sleep(time.Minute)
		}, 0, 0},
	} {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			l, log := w.logged(t, "a", tt.opts...)
			tt.happens(t, w, l)
			synctest.Wait()
			assert.Len(t, log.lines(waitsForMajority), tt.began)
			assert.Len(t, log.lines(answersAgain), tt.ended)
			w.Heal()
		})
	}
}

// A call that waits for a holder asks one master first, whose denial shows no majority. Its probes do.
func TestAProbeEndsAnOutage(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l, log := w.logged(t, "a")
		_, err := w.locker(t, "b").Lock(t.Context(), "x")
		require.NoError(t, err)
		go func() { _, _ = l.Lock(within(t, time.Hour), "x") }()
		time.Sleep(10 * time.Second)
		for range 30 { // some do not reach an attempt for x
			w.freeze()
			_, err = l.Lock(within(t, 600*time.Millisecond), "y")
			require.Error(t, err)
			w.Heal()
			time.Sleep(10 * time.Second)
			require.Len(t, log.lines(answersAgain), len(log.lines(waitsForMajority)))
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
		w.freeze()
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
	const locks = 100
	inWorld(t, 3, func(t *testing.T, w *world) {
		l, log := w.logged(t, "a")
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
		for n := range 3 {
			w.freeze()
			time.Sleep(ttl / 2)
			w.Heal()
			time.Sleep(ttl)
			synctest.Wait()
			require.NoError(t, mine.Err())
			assert.Len(t, log.lines("could not be extended"), 2+n, "the next outage")
			assert.Len(t, log.lines("are extended again"), 1+n)
		}
	})
}

func TestACloseIsLoggedOnlyIfReleasesAreUnconfirmed(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l, log := w.logged(t, "a")
		unlock(t, lock(t, l, "x"))
		require.NoError(t, l.Close())
		assert.Empty(t, log.lines("unconfirmed"))
		l, log = w.logged(t, "b")
		held := lock(t, l, "x")
		w.freeze()
		require.NoError(t, l.Close())
		assert.Len(t, log.lines("unconfirmed"), 1)
		require.ErrorIs(t, held.Err(), redlock.ErrClosed)
		w.Heal()
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
		l, log := w.logged(t, "a")
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

// An extension that the masters refuse says why, even if others fail already.
func TestARefusedExtensionSaysWhy(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l, log := w.logged(t, "a")
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

// A master that begins to refuse scripts is named in the log once for the releases and once for the locks, and so is
// the end of that.
func TestTheLogNamesAMasterThatRefusesScripts(t *testing.T) {
	inWorld(t, 3, func(t *testing.T, w *world) {
		l, log := w.logged(t, "a")
		lk := lock(t, l, "x")
		synctest.Wait()
		w.Master(0).Reply("NOPERM this user has no permissions to run the 'evalsha' command", "EVALSHA", "EVAL")
		unlock(t, lk)
		time.Sleep(time.Second)
		assert.Len(t, log.lines("refuses releases"), 1)
		assert.Len(t, log.lines("not asked for locks"), 1)
		w.Master(0).Recover()
		for range 5 {
			time.Sleep(time.Second)
			unlock(t, lock(t, l, "x"))
		}
		synctest.Wait()
		assert.Len(t, log.lines("executes releases again"), 1)
		assert.Len(t, log.lines("allows scripts again"), 1)
	})
}
