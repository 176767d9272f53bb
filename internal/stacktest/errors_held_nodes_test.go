package stacktest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/simnet"
)

// heldError asserts that err is about a lock that another holds, and nothing else, and returns its HeldError.
func heldError(t *testing.T, err error) *redlock.HeldError {
	t.Helper()
	var held *redlock.HeldError
	require.ErrorAs(t, err, &held)
	require.ErrorIs(t, err, redlock.ErrHeld)
	require.NoError(t, errors.Unwrap(held), "it is the end of its chain")
	for _, other := range []error{redlock.ErrNoQuorum, redlock.ErrLost, redlock.ErrReleased, redlock.ErrClosed} {
		require.NotErrorIs(t, err, other)
	}
	assert.Empty(t, redlock.NodeErrors(err))
	return held
}

// Each kind is refused what each other kind holds, with fencing, where a script reports the holder, and without.
func TestHeldErrorSaysWhoHoldsTheLock(t *testing.T) {
	t.Parallel()
	for _, holder := range permitless {
		for _, asker := range permitless {
			for _, opts := range [][]redlock.LockOption{nil, {redlock.WithFencing()}} {
				if holder.kind == "reader" && asker.kind == "reader" {
					continue
				}
				name := holder.name + ", " + asker.name
				subWorld(t, name, 3, func(t *testing.T, w *world) {
					lk, err := holder.try(t.Context(), w.locker(t, "a"), opts...)
					require.NoError(t, err)
					synctest.Wait()
					b := w.locker(t, "b")
					_, err = asker.try(t.Context(), b, opts...)
					got := heldError(t, err)
					assert.Contains(t, holder.names(), got.Name)
					assert.Contains(t, asker.names(), got.Name)
					if asker.name == "mutex" && opts == nil { // a plain SET NX PX
						assert.Empty(t, got.Kind)
						assert.Zero(t, got.Retry)
						_, err = b.Lock(within(t, time.Second), "x") // it has probed, and knows more
						require.ErrorIs(t, err, context.DeadlineExceeded)
						got = heldError(t, err)
					}
					assert.EqualValues(t, holder.kind, got.Kind)
					assert.Positive(t, got.Retry)
					assert.LessOrEqual(t, got.Retry, ttl)
					unlock(t, lk)
				})
			}
		}
	}
}

func TestHeldErrorOfAForeignKey(t *testing.T) {
	t.Parallel()
	for _, left := range []time.Duration{0, time.Minute, time.Hour} { // 0: it has no end
		bubble(t, 3, func(t *testing.T, w *world) {
			w.foreign("x", left)
			l := w.locker(t, "a")
			_, err := l.TryLock(t.Context(), "x")
			assert.Equal(t, &redlock.HeldError{Name: "x"}, heldError(t, err))
			_, err = l.RW("x").TryLock(t.Context())
			assert.Equal(t, &redlock.HeldError{Name: "x", Kind: "mutex", Retry: left}, heldError(t, err))
			_, err = l.Lock(within(t, time.Second), "x")
			assert.InDelta(t, float64(left), float64(heldError(t, err).Retry), float64(time.Second))
		})
	}
}

// A HeldError names the holder if this Locker is the holder, or if the caller waited.
func TestHeldErrorNamesTheHolder(t *testing.T) {
	t.Parallel()
	const owner = "host-7:8"
	for _, tt := range []struct {
		name   string
		hold   acquire
		kept   bool // it is released, with a minimum hold
		waited string
		own    string // of a TryLock of the same Locker
	}{
		{name: "mutex", hold: mutex.lock, waited: owner, own: owner},
		{name: "minimum hold", hold: func(ctx context.Context, l *redlock.Locker, _ ...option) (*redlock.Lock, error) {
			return l.Lock(ctx, "x", redlock.WithMinHold(10*time.Second))
		}, kept: true, waited: owner},
		{name: "writer", hold: writer.lock, waited: owner, own: owner},
		{name: "reader", hold: reader.lock, waited: owner},
		{name: "owner", hold: func(ctx context.Context, l *redlock.Locker, _ ...option) (*redlock.Lock, error) {
			return l.Reentrant("x", "job\x1b[2J\n7").Lock(ctx)
		}, waited: "job\uFFFD[2J\uFFFD7"},
		{name: "permit", hold: permit.lock, waited: owner},
	} {
		subWorld(t, tt.name, 3, func(t *testing.T, w *world) {
			a, b := w.locker(t, owner), w.locker(t, "b")
			lk, err := tt.hold(t.Context(), a)
			require.NoError(t, err)
			if tt.kept {
				unlock(t, lk)
			}
			_, err = b.TryLock(t.Context(), "x")
			assert.Empty(t, heldError(t, err).Holder, "a plain SET does not tell")
			_, err = b.Lock(within(t, time.Second), "x")
			assert.Equal(t, tt.waited, heldError(t, err).Holder)
			assert.NotContains(t, err.Error(), "\x1b")
			if tt.waited != "" {
				assert.Contains(t, err.Error(), `, "`+tt.waited+`")`)
			}
			_, err = a.TryLock(t.Context(), "x")
			assert.Equal(t, tt.own, heldError(t, err).Holder)
		})
	}
}

func withFixture(t *testing.T, f func(s fixture)) {
	t.Helper()
	bubble(t, 3, func(t *testing.T, w *world) {
		var log logbook // of errors in events, too
		trace := hooked(func(_ context.Context, _ string, event any) {
			if err := reflect.ValueOf(event).FieldByName("Err"); err.IsValid() && !err.IsNil() {
				_, _ = fmt.Fprintln(&log, err)
			}
		})
		ours := w.locker(t, "a", redlock.WithLogger(log.logger()), redlock.WithTrace(trace))
		s := fixture{t, w, ours, w.locker(t, "b")}
		w.warm(t, s.ours)
		w.warm(t, s.other)
		f(s)
		each(w.Masters(), (*simnet.Master).Heal)
		for _, line := range log.lines("") {
			assert.Less(t, len(line), 2000, "%.300s", line)
		}
	})
}

// wellFormed asserts what holds for the text of every error.
func wellFormed(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	assert.True(t, strings.HasPrefix(text, "redlock: "), text)
	assert.Equal(t, 1, strings.Count(text, "redlock: "), text)
	assert.NotContains(t, text, "\n")
	assert.NotContains(t, text, "%!")
	assert.Less(t, len(text), 2000, text)
	words := strings.Fields(text)
	for i := 1; i < len(words); i++ {
		assert.NotEqual(t, words[i-1], words[i], text)
	}
	parts := strings.Split(text, ": ")
	slices.Sort(parts)
	assert.Len(t, slices.Compact(parts), strings.Count(text, ": ")+1, text)
}

// rounded is a text with every duration rounded up to a second.
func rounded(text string) string {
	return regexp.MustCompile(`\d+(\.\d+)?m?s\b`).ReplaceAllStringFunc(text, func(s string) string {
		d, err := time.ParseDuration(s)
		if err != nil {
			return s
		}
		return fmt.Sprint((d + time.Second - 1).Truncate(time.Second))
	})
}

// after is a lock, on one name or on many, to which something happened, or to its Locker, or to the context of a call.
type after struct {
	fixture
	lk     *redlock.Lock
	ctx    context.Context
	cancel context.CancelFunc
}

// textsAfter make the errors of calls after something happened.
func textsAfter() map[string]func(s fixture) error {
	calls := map[string]func(a after) error{
		"Err":     func(a after) error { return a.lk.Err() },
		"Extend":  func(a after) error { return a.lk.Extend(a.ctx) },
		"Unlock":  func(a after) error { return a.lk.Unlock(a.ctx) },
		"Lock":    func(a after) error { return errorOf(a.ours.Lock(a.ctx, "x")) },
		"Inspect": func(a after) error { return errorOf(a.ours.Inspect(a.ctx, "x")) },
		"Nodes":   func(a after) error { return errorOf(a.ours.Nodes(a.ctx)) },
	}
	all := make(map[string]func(s fixture) error)
	for what, tt := range map[string]struct {
		happens func(a after)
		calls   string
	}{
		"released":              {func(a after) { unlock(a.T, a.lk) }, "Err Extend Unlock"},
		"expired":               {func(after) { time.Sleep(ttl) }, "Err Extend Unlock"},
		"the masters forgot it": {func(a after) { a.w.wipe() }, "Extend Unlock"},
		"no majority":           {func(a after) { a.freeze(0, 1) }, "Extend Unlock Inspect"},
		"ctx ended before":      {func(a after) { a.cancel() }, "Extend Lock Inspect Nodes"},
		"closed":                {func(a after) { _ = a.ours.Close() }, "Err Extend Unlock Lock Inspect Nodes"},
	} {
		for call := range strings.FieldsSeq(tt.calls) {
			with := func(lock func(s fixture) *redlock.Lock) func(s fixture) error {
				return func(s fixture) error {
					ctx, cancel := context.WithCancel(s.Context())
					defer cancel()
					a := after{s, lock(s), ctx, cancel}
					tt.happens(a)
					return calls[call](a)
				}
			}
			all[call+", "+what] = with(fixture.lock)
			if strings.Contains("Err Extend Unlock", call) {
				all[call+" of many names, "+what] = with(fixture.lockMany)
			}
		}
	}
	return all
}
