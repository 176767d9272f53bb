package naive_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/locker"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	name = "orders"
	ttl  = 10 * time.Second
)

// world is one kind of naive lock with its masters. Time passes for their TTLs only when the test says so.
type world struct {
	*testing.T
	control string
	masters []*miniredis.Miniredis
}

func newWorld(t *testing.T, control string, masters int) *world {
	t.Helper()
	w := &world{T: t, control: control}
	for range masters {
		w.masters = append(w.masters, miniredis.RunT(t))
	}
	return w
}

func (w *world) settings() locker.Settings {
	s := locker.Settings{Owner: "test", Timeout: ttl / 2}
	for _, m := range w.masters {
		s.URLs = append(s.URLs, "redis://"+m.Addr())
	}
	return s
}

// client opens a client of its own.
func (w *world) client(change ...func(*locker.Settings)) locker.Locker {
	w.Helper()
	s := w.settings()
	for _, c := range change {
		c(&s)
	}
	control, ok := naive.Find(w.control)
	require.True(w, ok)
	l, err := control.Open(s)
	require.NoError(w, err)
	w.Cleanup(func() { assert.NoError(w, l.Close()) })
	return l
}

// passes lets time pass on every master.
func (w *world) passes(d time.Duration) {
	for _, m := range w.masters {
		m.FastForward(d)
	}
}

// cut makes the given masters unreachable, and all others reachable.
func (w *world) cut(unreachable ...int) {
	for _, m := range w.masters {
		m.SetError("")
	}
	for _, i := range unreachable {
		w.masters[i].SetError("ERR cut off")
	}
}

func (w *world) gets(l locker.Locker, mode, owner string) locker.Lock {
	w.Helper()
	h, err := try(w.Context(), l, mode, owner)
	require.NoError(w, err)
	return h
}

func (w *world) isRefused(l locker.Locker, mode, owner string) {
	w.Helper()
	_, err := try(w.Context(), l, mode, owner)
	require.ErrorIs(w, err, locker.ErrHeld)
}

func try(ctx context.Context, l locker.Locker, mode, owner string) (locker.Lock, error) {
	return l.Lock(ctx, locker.Request{Mode: mode, Names: []string{name}, Owner: owner, Slots: 1, TTL: ttl, Try: true})
}

// unlocks unlocks, and ignores errors: only the consequences matter.
func (w *world) unlocks(h locker.Lock) {
	w.Helper()
	require.NoError(w, h.Unlock(w.Context()))
}

// wrong is a clock that is ahead or slow.
type wrong struct {
	clock.Clock
	by time.Duration
}

func (c wrong) Now() time.Time { return c.Clock.Now().Add(c.by) }

func ahead(by time.Duration) func(*locker.Settings) {
	return func(s *locker.Settings) { s.Clock = wrong{clock.System, by} }
}

func between(do func()) func(*locker.Settings) {
	return func(s *locker.Settings) { s.Between = do }
}

// flaws shows every flaw that a control's doc describes. "Gets" after "gets" is the violation.
var flaws = map[string]map[string]func(*testing.T, string){
	"exists-set": {
		"two see it free": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			other := w.client()
			w.gets(w.client(between(func() { w.gets(other, "", "") })), "", "")
		},
	},
	"setnx": {
		"a dead holder's lock is never given back": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			w.gets(w.client(), "", "")
			w.passes(1000 * ttl)
			w.isRefused(w.client(), "", "")
		},
	},
	"setnx-expire": {
		"dead between the two": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			dying := w.client(between(runtime.Goexit))
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				_, _ = try(context.Background(), dying, "", "")
			}()
			<-gone
			w.passes(1000 * ttl)
			w.isRefused(w.client(), "", "")
		},
		"an unlock after the TTL": unlockAfterTTL,
	},
	"getset-clock": {
		"a clock is ahead": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			w.gets(w.client(), "", "")
			w.isRefused(w.client(), "", "")
			w.gets(w.client(ahead(2*ttl)), "", "")
		},
		"a loser moves the winner's end": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			w.gets(w.client(ahead(-2*ttl)), "", "") // has ended, by everybody else's clock
			winner := w.client()
			var end string
			loser := w.client(ahead(5*time.Second), between(func() {
				w.gets(winner, "", "")
				var err error
				end, err = w.masters[0].Get(name)
				require.NoError(t, err)
			}))
			w.isRefused(loser, "", "")
			now, err := w.masters[0].Get(name)
			require.NoError(t, err)
			assert.Greater(t, now, end)
		},
		"an unlock after the end": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			late := w.gets(w.client(ahead(-2*ttl)), "", "")
			w.gets(w.client(), "", "")
			w.unlocks(late)
			w.gets(w.client(), "", "")
		},
	},
	"set-px-del": {"an unlock after the TTL": unlockAfterTTL},
	"failover": {
		"the master dies before its replica knows": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 2)
			a, b := w.client(), w.client()
			w.gets(a, "", "")
			w.isRefused(b, "", "")
			w.masters[0].Close()
			w.gets(b, "", "")
		},
	},
	"rw-two-keys": {
		"one of two readers leaves": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			l := w.client()
			first := w.gets(l, kinds.Reader, "")
			w.gets(l, kinds.Reader, "")
			w.isRefused(l, kinds.Writer, "")
			w.unlocks(first)
			w.gets(l, kinds.Writer, "")
		},
	},
	"rw-one-hash": {
		"a reader whose clock is slow": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			l := w.client()
			w.gets(l, kinds.Reader, "")
			w.isRefused(l, kinds.Writer, "")
			w.gets(w.client(ahead(-2*ttl)), kinds.Reader, "")
			w.gets(l, kinds.Writer, "")
		},
		"an unlock after the end": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 1)
			late := w.gets(w.client(ahead(-2*ttl)), kinds.Reader, "")
			w.gets(w.client(), kinds.Writer, "")
			w.unlocks(late)
			w.gets(w.client(), kinds.Writer, "")
		},
	},
	"reentrant-count": {
		"two holds over different majorities": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 5)
			l := w.client()
			w.cut(0, 1)
			w.gets(l, kinds.Reentrant, "one")
			w.cut(2, 3)
			inner := w.gets(l, kinds.Reentrant, "one")
			w.cut()
			w.isRefused(l, kinds.Reentrant, "other")
			w.unlocks(inner)
			w.gets(l, kinds.Reentrant, "other") // while the outer hold lasts
		},
	},
	"semaphore-count": {
		"a refused one gives back the holder's permit": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 5)
			l := w.client()
			w.gets(l, "", "")
			w.isRefused(l, "", "")
			w.gets(l, "", "")
		},
	},
	"semaphore-tokens": {
		"three majorities of two slots": func(t *testing.T, c string) {
			t.Helper()
			w := newWorld(t, c, 3)
			l := w.client()
			for _, unreachable := range []int{2, 0, 1} {
				w.cut(unreachable)
				_, err := l.Lock(
					t.Context(), locker.Request{Mode: kinds.Semaphore, Names: []string{name}, Slots: 2, TTL: ttl, Try: true},
				)
				require.NoError(t, err)
			}
		},
	},
}

func unlockAfterTTL(t *testing.T, control string) {
	t.Helper()
	w := newWorld(t, control, 1)
	late := w.gets(w.client(), "", "")
	w.isRefused(w.client(), "", "")
	w.passes(ttl + time.Millisecond)
	w.gets(w.client(), "", "")
	w.unlocks(late)
	w.gets(w.client(), "", "")
}

func TestEveryFlawShows(t *testing.T) {
	t.Parallel()
	for _, c := range naive.All {
		require.NotEmpty(t, flaws[c.Name], "%s: its flaw is shown nowhere", c.Name)
		assert.Contains(t, []string{"exclusion", "liveness", "slots"}, c.Checker)
		assert.NotEmpty(t, c.Doc)
		assert.NotEmpty(t, c.Modes)
		for what, shows := range flaws[c.Name] {
			t.Run(c.Name+"/"+what, func(t *testing.T) {
				t.Parallel()
				shows(t, c.Name)
			})
		}
	}
	assert.Len(t, flaws, len(naive.All))
}

func TestWithoutItsFlawEachLocks(t *testing.T) {
	t.Parallel()
	for _, c := range naive.All {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, c.Name, 5)
			mode := c.Modes[len(c.Modes)-1]
			a, b := w.client(), w.client()
			h := w.gets(a, mode, "a")
			assert.NotEmpty(t, h.Token())
			assert.True(t, h.Until().After(time.Now().Add(ttl/2)))
			w.isRefused(b, mode, "b")
			if c.Name == "semaphore-count" {
				return // the flaw has shown
			}
			w.unlocks(h)
			w.unlocks(w.gets(b, mode, "b"))
			for _, m := range w.masters {
				assert.Empty(t, m.Keys())
			}
		})
	}
}

func TestAWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "set-px-del", 1)
	l := w.client()
	w.gets(l, "", "")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
	defer cancel()
	_, err := l.Lock(ctx, locker.Request{Names: []string{name}, TTL: ttl})
	require.ErrorIs(t, err, locker.ErrHeld)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestFailoverTakesAReplica(t *testing.T) {
	t.Parallel()
	_, ok := naive.Find("padlock")
	assert.False(t, ok)
	failover, ok := naive.Find("failover")
	require.True(t, ok)
	_, err := failover.Open(locker.Settings{URLs: []string{"redis://127.0.0.1:1"}})
	require.ErrorContains(t, err, "two URLs")
}

// A caller that gives up says nothing about the master.
func TestFailoverDoesNotTurnForACallerThatGivesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "failover", 2)
	l := w.client()
	h := w.gets(l, "", "")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, h.Unlock(gone), context.Canceled)
	w.isRefused(l, "", "")
}
