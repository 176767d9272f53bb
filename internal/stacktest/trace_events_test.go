package stacktest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
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
	"github.com/redlock-go/redlock/internal/simnet"
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
	late bool
	id   uint64
	text string
}

func (l line) compare(other line) int {
	order := func(l line) int {
		if l.late {
			return 1
		}
		return 0
	}
	c := cmp.Or(cmp.Compare(l.at, other.at), cmp.Compare(order(l), order(other)), cmp.Compare(l.id, other.id))
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
	l := line{at: time.Since(s.began), late: hook == "Unlocked" || hook == "Node"}
	if id := reflect.ValueOf(e).FieldByName("ID"); id.IsValid() {
		l.id = id.Uint()
	}
	l.text = fmt.Sprintf("%s %s: %s %s", s.whole(l.at), who, hook, s.show(reflect.ValueOf(e)))
	l.at = l.at.Round(s.grain)
	s.lines = append(s.lines, l)
}

func (s *script) trace() *redlock.Trace {
	return &redlock.Trace{
		AcquireStart: func(ctx context.Context, e redlock.AcquireStartEvent) { s.note(caller(ctx), "AcquireStart", e) },
		Waiting: func(ctx context.Context, e redlock.WaitingEvent) {
			if e.Delay > 0 {
				e.Delay = 1 // it depends on random numbers
			}
			s.note(caller(ctx), "Waiting", e)
		},
		AcquireEnd: func(ctx context.Context, e redlock.AcquireEndEvent) {
			s.note(caller(ctx), "AcquireEnd", e)
			s.end(e.Err)
		},
		Extended: func(ctx context.Context, e redlock.ExtendedEvent) { s.note(caller(ctx), "Extended", e) },
		HoldEnd:  func(ctx context.Context, e redlock.HoldEndEvent) { s.note(caller(ctx), "HoldEnd", e) },
		Unlocked: func(ctx context.Context, e redlock.UnlockedEvent) {
			s.note(caller(ctx), "Unlocked", e)
			s.end(e.Err)
		},
		Vote: func(ctx context.Context, e redlock.VoteEvent) {
			if e.Op == "release" && e.Verdict == "denied" {
				return // of what the master did not grant
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			number := strings.TrimSuffix(strings.TrimPrefix(e.Node, "10.0.0."), ":6379")
			line := fmt.Sprintf("%s %s: Vote %s", s.whole(time.Since(s.began)), caller(ctx), s.show(reflect.ValueOf(e)))
			nodes := append(strings.Split(s.votes[line], ""), number)
			slices.Sort(nodes)
			s.votes[line] = strings.Join(nodes, "")
		},
		Node: func(e redlock.NodeEvent) { s.note("", "Node", e) },
	}
}

// held keeps a name taken by another Locker.
func (s *script) held(t *testing.T, name string) *redlock.Lock {
	t.Helper()
	lk, err := s.other.Lock(t.Context(), name)
	require.NoError(t, err)
	synctest.Wait()
	return lk
}

func (s *script) down(n int) {
	each(s.some(0, n), (*simnet.Master).Freeze)
}

// scripts are the scenarios by name.
var scripts = map[string]func(t *testing.T, s *script){
	"lock and unlock": func(t *testing.T, s *script) {
		for range 2 {
			lk := s.lock(t, "one", "x")
			time.Sleep(time.Second)
			s.unlock(lk, "two")
		}
	},
	"refused by a master": func(t *testing.T, s *script) {
		s.held(t, "x")
		_, err := s.l.TryLock(s.as("one"), "x")
		s.got(err)
	},
	"refused in the process": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		_, err := s.l.TryLock(s.as("two"), "x")
		s.got(err)
		s.unlock(lk, "one")
	},
	"timed out": func(t *testing.T, s *script) {
		s.grain = 50 * time.Millisecond
		s.held(t, "x")
		ctx, cancel := context.WithTimeout(s.as("one"), 100*time.Millisecond)
		defer cancel()
		_, err := s.l.Lock(ctx, "x", redlock.WithRetry(time.Second, time.Second))
		s.got(err)
	},
	"canceled": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		ctx, cancel := context.WithCancel(s.as("two"))
		time.AfterFunc(time.Second, cancel)
		_, err := s.l.Lock(ctx, "x")
		s.got(err)
		s.unlock(lk, "one")
	},
	"waits for a release": func(t *testing.T, s *script) {
		s.grain = 50 * time.Millisecond
		lk := s.held(t, "x")
		next := locking(s.as("one"), s.l, "x", redlock.WithRetry(time.Second, time.Second))
		time.Sleep(100 * time.Millisecond)
		unlock(t, lk)
		got := ended(t, next, time.Second).lock
		s.got(nil)
		synctest.Wait()
		s.unlock(got, "two")
	},
	"a writer gives up waiting for a reader": func(t *testing.T, s *script) {
		s.grain = 50 * time.Millisecond
		_, err := s.other.RW("x").RLock(t.Context())
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(s.as("one"), 100*time.Millisecond)
		defer cancel()
		_, err = s.l.RW("x").Lock(ctx, redlock.WithRetry(time.Second, time.Second))
		s.got(err)
	},
	"canceled before": func(_ *testing.T, s *script) {
		ctx, cancel := context.WithCancel(s.as("one"))
		cancel()
		_, err := s.l.Lock(ctx, "x")
		s.got(err)
	},
	"no majority": func(_ *testing.T, s *script) {
		s.down(2)
		_, err := s.l.TryLock(s.as("one"), "x")
		s.got(err)
	},
	"no majority for an extension and an unlock": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithoutKeepalive())
		s.down(2)
		require.ErrorIs(t, lk.Extend(s.as("two")), redlock.ErrNoQuorum)
		s.unlock(lk, "three")
		s.unlock(lk, "four")
	},
	"closed": func(t *testing.T, s *script) {
		s.lock(t, "one", "x")
		next := locking(s.as("two"), s.l, "x")
		time.Sleep(time.Second)
		require.NoError(t, s.l.Close())
		s.got((<-next).err)
		_, err := s.l.TryLock(s.as("three"), "x")
		s.got(err)
	},
	"unlock after close": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		require.NoError(t, s.l.Close())
		s.unlock(lk, "two")
	},
	"lost by its TTL": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithoutKeepalive(), redlock.WithTTL(time.Second))
		time.Sleep(2 * time.Second)
		s.unlock(lk, "two")
		s.unlock(lk, "three")
	},
	"lost by its maximum hold": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithMaxHold(time.Second))
		time.Sleep(2 * time.Second)
		s.unlock(lk, "two")
	},
	"lost to another": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		s.foreign("x", time.Minute)
		require.ErrorIs(t, lk.Extend(s.as("two")), redlock.ErrLost)
		s.unlock(lk, "three")
	},
	"extended": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithTTL(3*time.Second))
		require.NoError(t, lk.Extend(s.as("two")))
		time.Sleep(1500 * time.Millisecond)
		s.unlock(lk, "three")
	},
	"handed over": func(t *testing.T, s *script) {
		first := s.lock(t, "one", "x")
		next := locking(s.as("two"), s.l, "x")
		time.Sleep(10 * time.Millisecond)
		s.unlock(first, "three")
		second := ended(t, next, 0).lock
		s.got(nil)
		synctest.Wait()
		require.NoError(t, second.Extend(s.as("four")))
		time.Sleep(4 * time.Second) // the keepalive extends it once
		s.unlock(second, "five")
		s.unlock(first, "six")
	},
	"not handed over": func(t *testing.T, s *script) {
		s.grain = 50 * time.Millisecond
		first := s.lock(t, "one", "x", redlock.WithoutHandOver())
		next := locking(s.as("two"), s.l, "x")
		time.Sleep(10 * time.Millisecond)
		s.unlock(first, "three")
		second := ended(t, next, time.Second).lock
		s.got(nil)
		synctest.Wait()
		s.unlock(second, "four")
	},
	"minimum hold": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithMinHold(time.Second))
		time.Sleep(10 * time.Millisecond)
		s.unlock(lk, "two")
		time.Sleep(10 * time.Millisecond) // what the release still announces goes first
		_, err := s.l.TryLock(s.as("three"), "x")
		s.got(err)
	},
	"fenced": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x", redlock.WithFencing())
		require.NoError(t, lk.Extend(s.as("two")))
		s.unlock(lk, "three")
	},
	"one master is silent, and another has the name": func(t *testing.T, s *script) {
		s.foreign("x", time.Minute, 1)
		s.Master(0).Freeze()
		_, err := s.l.TryLock(s.as("one"), "x")
		s.got(err)
	},
	"every kind": func(t *testing.T, s *script) {
		for _, acquire := range []func(ctx context.Context) (*redlock.Lock, error){
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.RW("r").RLock(ctx) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.RW("r").TryRLock(ctx) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.RW("w").Lock(ctx) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.RW("w2").TryLock(ctx) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.Reentrant("o", "me").Lock(ctx) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.Reentrant("o", "me").TryLock(ctx) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.Semaphore("s", 3).Acquire(ctx) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.Semaphore("s", 3).TryAcquire(ctx) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.LockAll(ctx, []string{"b", "a", "b"}) },
			func(ctx context.Context) (*redlock.Lock, error) { return s.l.TryLockAll(ctx, []string{"d", "c"}) },
		} {
			lk, err := acquire(s.as("one"))
			s.got(err)
			require.NoError(t, err)
			synctest.Wait()
			require.NoError(t, lk.Extend(s.as("two")))
			synctest.Wait()
			s.unlock(lk, "three")
			synctest.Wait()
		}
	},
	"inspected": func(t *testing.T, s *script) {
		_, err := s.l.Inspect(s.as("one"), "x")
		require.NoError(t, err)
		_, err = s.l.Nodes(s.as("two"))
		require.NoError(t, err)
		synctest.Wait()
	},
	"released by its token": func(t *testing.T, s *script) {
		lk := s.lock(t, "one", "x")
		require.NoError(t, s.l.Release(s.as("two"), "x", lk.Token()))
		synctest.Wait()
		require.ErrorIs(t, s.l.Release(s.as("three"), "x", lk.Token()), redlock.ErrLost)
		s.unlock(lk, "four")
	},
	"a master fails and returns": func(t *testing.T, s *script) {
		s.Master(0).Stop()
		for range 2 {
			_, err := s.l.Inspect(s.as("one"), "x")
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		s.Master(0).Start()
		time.Sleep(time.Second)
		_, err := s.l.Inspect(s.as("two"), "x")
		require.NoError(t, err)
		time.Sleep(time.Second)
		clear(s.votes)
	},
}

// sections returns the parts of a file by their titles.
func sections(t *testing.T, file string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	all := make(map[string]string)
	for _, part := range strings.Split(string(text), "\n# ")[1:] {
		name, lines, _ := strings.Cut(part, "\n")
		all[name] = strings.TrimSpace(lines)
	}
	return all
}

// testdata/events.txt has the events of each scenario with all of their fields, and what Stats has counted.
func TestEventsSayWhatHappened(t *testing.T) {
	t.Parallel()
	want := sections(t, "testdata/events.txt")
	require.Len(t, want, len(scripts))
	for name, play := range scripts {
		subWorld(t, name, 3, func(t *testing.T, w *world) {
			s := &script{world: w, votes: make(map[string]string)}
			w.distance("a", time.Millisecond)
			s.other = w.locker(t, "b")
			s.l = w.locker(t, "a", redlock.WithTrace(s.trace()))
			w.warm(t, s.l)
			before := s.l.Stats()
			s.mu.Lock()
			s.began, s.lines, s.ended = time.Now(), nil, nil
			clear(s.votes)
			s.mu.Unlock()
			play(t, s)
			time.Sleep(time.Second) // for the last votes
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			assert.Equal(t, s.result, s.ended, "the errors of the calls are those of the events")
			assertSnapshotAddsUp(t, s.l.Stats())
			slices.SortStableFunc(s.lines, line.compare)
			var got []string
			for _, l := range s.lines {
				got = append(got, l.text)
			}
			got = append(got, votesOf(s.votes)...)
			for i, k := range s.l.Stats().Kinds {
				if line := s.show(reflect.ValueOf(less(k.LockStats, before.Kinds[i].LockStats))); line != "" {
					got = append(got, string(k.Kind)+": "+line)
				}
			}
			if !assert.Equal(t, strings.Split(want[name], "\n"), got) {
				t.Logf("# %s\n\n%s\n", name, strings.Join(got, "\n"))
			}
		})
	}
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
		counts := slices.Clone(h.now.Counts)
		for i := range counts {
			counts[i] -= h.before.Counts[i]
		}
		h.now.Count, h.now.Sum, h.now.Counts = h.now.Count-h.before.Count, h.now.Sum-h.before.Sum, counts
		if h.now.Count == 0 && h.now.Sum == 0 {
			*h.now = redlock.Histogram{}
		}
	}
	return now
}
