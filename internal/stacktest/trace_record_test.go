package stacktest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
)

// script is a scenario whose events are recorded. Each master is 1 ms away, so that a round takes 2 ms.
type script struct {
	*world
	l, other *redlock.Locker // other has no hooks

	// grain is what times are rounded to, if the number of round trips of 2 ms depends on the order of goroutines.
	grain time.Duration

	mu     sync.Mutex
	began  time.Time
	lines  []line            // the events but votes, in order
	votes  map[string]string // the numbers of the masters, by the vote
	ended  []error           // of the events AcquireEnd and Unlocked, in order
	result []error           // of the calls, in order
}

// line is an event. Events of several acquisitions at the same instant are in no order, and Unlocked may come before
// the HoldEnd of a hand-over.
type line struct {
	at   time.Duration
	late int // 1: after others of that time
	id   uint64
	text string
}

func (l line) compare(other line) int {
	c := cmp.Or(cmp.Compare(l.at, other.at), cmp.Compare(l.late, other.late), cmp.Compare(l.id, other.id))
	if c == 0 && l.id == 0 {
		return cmp.Compare(l.text, other.text) // of two masters
	}
	return c
}

// as returns the context of a call of this name.
func (s *script) as(name string) context.Context {
	return context.WithValue(context.Background(), callKey{}, name)
}

// got notes the error that a call returned.
func (s *script) got(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.result = append(s.result, err)
}

// end notes the error of an event.
func (s *script) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, err)
}

// lock acquires a lock that is free.
func (s *script) lock(t *testing.T, caller, name string, opts ...redlock.LockOption) *redlock.Lock {
	t.Helper()
	ctx, cancel := context.WithCancel(s.as(caller))
	defer cancel() // later events have the context's values, and not its end
	lk, err := s.l.Lock(ctx, name, opts...)
	require.NoError(t, err)
	s.got(nil)
	synctest.Wait()
	return lk
}

// granted returns the lock of a call that has it within d.
func (s *script) granted(t *testing.T, out <-chan attempt, d time.Duration) *redlock.Lock {
	t.Helper()
	lk := ended(t, out, d).lock
	s.got(nil)
	synctest.Wait()
	return lk
}

// within is the context of call one, which ends after d.
func (s *script) within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(s.as("one"), d)
	t.Cleanup(cancel)
	return ctx
}

func (s *script) unlock(lk *redlock.Lock, caller string) { s.got(lk.Unlock(s.as(caller))) }

// show returns the fields of an event or of Stats that are not zero. A time counts from the beginning, and an error is
// shown as what it matches. The node of a vote is left out.
func (s *script) show(v reflect.Value) string {
	var out []string
	for i := range v.NumField() {
		name, field := v.Type().Field(i).Name, v.Field(i)
		if field.IsZero() || name == "Node" && v.Type() == reflect.TypeFor[redlock.VoteEvent]() {
			continue
		}
		if v.Type().Field(i).Anonymous {
			out = append(out, s.show(field))
			continue
		}
		switch value := field.Interface().(type) {
		case error:
			out = append(out, name+"="+matched(value))
		case time.Time:
			out = append(out, name+"="+s.whole(value.Sub(s.began)))
		case time.Duration:
			out = append(out, name+"="+s.whole(value))
		case redlock.Histogram:
			out = append(out, fmt.Sprint(name, "=", value.Count, "x", s.whole(value.Sum)))
		default:
			out = append(out, fmt.Sprintf("%s=%v", name, value))
		}
	}
	return strings.Join(out, " ")
}

// whole returns a duration, or "~" if it depends on a random number: then it is not a whole number of milliseconds.
func (s *script) whole(d time.Duration) string {
	if d%time.Millisecond != 0 {
		return "~"
	}
	return d.Round(s.grain).String()
}

// matched returns the names of the errors that an error matches.
func matched(err error) string {
	var out []string
	for _, is := range []struct {
		name string
		err  error
	}{
		{"held", redlock.ErrHeld},
		{"noquorum", redlock.ErrNoQuorum},
		{"lost", redlock.ErrLost},
		{"released", redlock.ErrReleased},
		{"closed", redlock.ErrClosed},
		{"deadline", context.DeadlineExceeded},
		{"canceled", context.Canceled},
	} {
		if errors.Is(err, is.err) {
			out = append(out, is.name)
		}
	}
	if len(out) == 0 {
		return "another"
	}
	return strings.Join(out, "+")
}

// caller returns the name of the call whose context an event has.
func caller(ctx context.Context) string {
	name := fmt.Sprint(ctx.Value(callKey{}))
	if ctx.Err() != nil {
		name += "(ended)"
	}
	return name
}

func (s *script) note(who, hook string, e any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := line{at: time.Since(s.began)}
	if hook == "Unlocked" || hook == "Node" {
		l.late = 1
	}
	if id := reflect.ValueOf(e).FieldByName("ID"); id.IsValid() {
		l.id = id.Uint()
	}
	l.text = fmt.Sprintf("%s %s: %s %s", s.whole(l.at), who, hook, s.show(reflect.ValueOf(e)))
	l.at = l.at.Round(s.grain)
	s.lines = append(s.lines, l)
}

func (s *script) trace() *redlock.Trace {
	return hooked(func(ctx context.Context, hook string, event any) {
		who := caller(ctx)
		switch e := event.(type) {
		case redlock.WaitingEvent:
			if e.Delay > 0 {
				e.Delay = 1 // it depends on random numbers
			}
			event = e
		case redlock.AcquireEndEvent:
			defer s.end(e.Err)
		case redlock.UnlockedEvent:
			defer s.end(e.Err)
		case redlock.VoteEvent:
			s.vote(who, e)
			return
		case redlock.NodeEvent:
			who = ""
		}
		s.note(who, hook, event)
	})
}

// vote notes a vote.
func (s *script) vote(who string, e redlock.VoteEvent) {
	if e.Op == "release" && e.Verdict == "denied" {
		return // of what the master did not grant
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number := strings.TrimSuffix(strings.TrimPrefix(e.Node, "10.0.0."), ":6379")
	line := fmt.Sprintf("%s %s: Vote %s", s.whole(time.Since(s.began)), who, s.show(reflect.ValueOf(e)))
	nodes := append(strings.Split(s.votes[line], ""), number)
	slices.Sort(nodes)
	s.votes[line] = strings.Join(nodes, "")
}

// held keeps a name taken by another Locker.
func (s *script) held(t *testing.T, name string) *redlock.Lock {
	t.Helper()
	lk, err := s.other.Lock(t.Context(), name)
	require.NoError(t, err)
	synctest.Wait()
	return lk
}

// votesOf returns a sorted line for each vote, with the numbers of the masters that gave it.
func votesOf(votes map[string]string) (lines []string) {
	for vote, nodes := range votes {
		lines = append(lines, vote+" Nodes="+nodes)
	}
	slices.Sort(lines)
	return lines
}

// less returns what was counted since before.
func less(now, before redlock.LockStats) redlock.LockStats {
	n, b := reflect.ValueOf(&now).Elem(), reflect.ValueOf(before)
	for i := range n.NumField() {
		if field := n.Field(i); field.CanInt() {
			field.SetInt(field.Int() - b.Field(i).Int())
		}
	}
	for _, h := range []struct{ now, before *redlock.Histogram }{
		{&now.Waits, &before.Waits}, {&now.Holds, &before.Holds},
	} {
		*h.now = redlock.Histogram{Count: h.now.Count - h.before.Count, Sum: h.now.Sum - h.before.Sum}
	}
	return now
}

type callKey struct{}

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
