package clients_test

import (
	"errors"
	"io"
	"net/rpc"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/clients"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/testmain"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const (
	soon = 20 * time.Second
	look = 10 * time.Millisecond
)

// recorder keeps the harness's history in memory.
type recorder struct {
	mu     sync.Mutex
	events []history.Event
}

func (l *recorder) log(e history.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func (l *recorder) all() []history.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.events
}

func newFleet(t *testing.T, size int, config traffic.Config) (*clients.Fleet, *recorder) {
	t.Helper()
	config.Prefix, config.MaxTTL = "test:", 10*time.Second
	if config.Groups == nil {
		config.Groups = traffic.Groups
	}
	log := &recorder{}
	f := &clients.Fleet{
		Command: testmain.Client, Config: config, Size: size, Dir: t.TempDir(), Logs: t.TempDir(), Log: log.log,
	}
	t.Cleanup(func() { assert.NoError(t, f.Close()) })
	return f, log
}

// quit has all clients close their lockers, and returns when all processes have ended.
func quit(t *testing.T, f *clients.Fleet) error {
	t.Helper()
	if err := f.CloseLockers(t.Context()); err != nil {
		return err
	}
	return f.End(t.Context())
}

// noGuard is a lock that fresh masters grant at once.
const noGuard = "restart guard off"

func plainConfig(t *testing.T) traffic.Config {
	t.Helper()
	return traffic.Config{Lock: noGuard, URLs: redlocktest.URLs(redlocktest.Start(t, 1)), MaxTTL: 10 * time.Second}
}

// lines is how many events a life of a client has written so far.
func lines(t *testing.T, f *clients.Fleet, client, life int) int {
	t.Helper()
	events, err := history.ReadDir(f.Dir)
	require.NoError(t, err)
	n := 0
	for _, e := range events {
		if e.Client == traffic.Name(client) && e.Life == life {
			n++
		}
	}
	return n
}

// goesOn waits until a life of a client has written some more events.
func goesOn(t *testing.T, f *clients.Fleet, client, life int) {
	t.Helper()
	before := lines(t, f, client, life)
	require.Eventually(t, func() bool { return lines(t, f, client, life) > before+20 }, soon, look)
}

// standsStill waits until a life of client 0 writes nothing: a write under way when it was frozen may still land.
func standsStill(t *testing.T, f *clients.Fleet, life int) {
	t.Helper()
	require.Eventually(t, func() bool {
		before := lines(t, f, 0, life)
		time.Sleep(300 * time.Millisecond)
		return lines(t, f, 0, life) == before
	}, soon, look)
}

func TestAKilledClientStartsANewLifeAndAFrozenOneContinuesIt(t *testing.T) {
	t.Parallel()
	f, log := newFleet(t, 1, plainConfig(t))
	require.NoError(t, f.CanFreeze())
	require.NoError(t, f.StartAll(t.Context()))
	goesOn(t, f, 0, 0)
	require.NoError(t, f.Kill(t.Context(), 0))
	left := lines(t, f, 0, 0)
	assert.Greater(t, left, 20)
	require.ErrorContains(t, f.Healthy(0), "has ended")

	require.NoError(t, f.Start(t.Context(), 0))
	require.NoError(t, f.Healthy(0))
	goesOn(t, f, 0, 1)
	assert.Equal(t, left, lines(t, f, 0, 0), "the first life is over")

	require.NoError(t, f.Freeze(t.Context(), 0))
	standsStill(t, f, 1)
	require.NoError(t, f.Thaw(t.Context(), 0))
	goesOn(t, f, 0, 1)
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(read(t, f), func(e history.Event) bool {
			return e.Kind == history.Stalled && e.Client == traffic.Name(0) && e.Life == 1 && e.Stall > 200*time.Millisecond
		})
	}, soon, look, "it has noticed")
	assert.Empty(t, log.all(), "neither is a failure of the harness")
}

func TestAClientThatCannotBeginBreaksTheRun(t *testing.T) {
	t.Parallel()
	config := plainConfig(t)
	config.Lock = "door"
	f, log := newFleet(t, 1, config)
	require.Error(t, f.StartAll(t.Context()))
	require.Eventually(t, func() bool { return len(log.all()) == 1 }, soon, look)
	assert.False(t, check.Broken(log.all()).Held())
	assert.True(t, check.Clients(log.all()).Held(), "it had no lock yet that could be to blame")
}

func TestAClientThatEndsOnceItsTrafficRunsHasFailed(t *testing.T) {
	t.Parallel()
	f, log := newFleet(t, 1, plainConfig(t))
	started := processesOf(f)
	require.NoError(t, f.StartAll(t.Context()))
	require.NoError(t, (<-started).Process.Kill(), "not by the fleet, which did not ask it to end")
	require.Eventually(t, func() bool { return len(log.all()) == 1 }, soon, look)
	assert.True(t, check.Broken(log.all()).Held(), "the harness is not to blame")
	assert.ErrorContains(t, firstOf(check.Clients(log.all())), "client c0.0 ended by itself: signal: killed")
}

func TestAClientThatDoesNotObeyHasFailedUnlessItIsOnlyLate(t *testing.T) {
	t.Parallel()
	const bound = time.Second
	for name, tt := range map[string]struct {
		thaw        time.Duration // 0: never
		says, fails string
	}{
		"late":  {thaw: 3 * bound / 2, says: "to answer \"Stop\", of 1s at most"},
		"never": {says: "did not answer \"Stop\" within 3s", fails: "it hangs"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, log := newFleet(t, 1, plainConfig(t))
			require.NoError(t, f.CanFreeze())
			require.NoError(t, f.StartAll(t.Context()))
			require.NoError(t, f.Freeze(t.Context(), 0))
			if tt.thaw > 0 {
				time.AfterFunc(tt.thaw, func() { assert.NoError(t, f.Thaw(t.Context(), 0)) })
			}
			require.ErrorContains(t, f.Stop(t.Context(), bound), tt.says)
			if tt.fails == "" {
				assert.Empty(t, log.all(), "a busy machine is not a failure")
				return
			}
			assert.ErrorContains(t, firstOf(check.Clients(log.all())), tt.fails)
		})
	}
}

func TestAClientThatDoesNotQuitWellHasFailed(t *testing.T) {
	t.Parallel()
	f, log := newFleet(t, 1, plainConfig(t))
	started := processesOf(f)
	require.NoError(t, f.StartAll(t.Context()))
	require.NoError(t, f.Freeze(t.Context(), 0), "so that it cannot end before it is killed")
	client := <-started
	time.AfterFunc(200*time.Millisecond, func() { assert.NoError(t, client.Process.Kill()) })
	require.ErrorContains(t, quit(t, f), "did not end well")
	assert.ErrorContains(t, firstOf(check.Clients(log.all())), "did not end well: signal: killed")
}

func processesOf(f *clients.Fleet) <-chan *exec.Cmd {
	started := make(chan *exec.Cmd, f.Size)
	command := f.Command
	f.Command = func() *exec.Cmd {
		c := command()
		started <- c
		return c
	}
	return started
}

// firstOf is the first finding, nil if there is none.
func firstOf(v check.Verdict) error {
	if len(v.Findings) == 0 {
		return nil
	}
	return errors.New(v.Findings[0].Text)
}

// inProcess runs a client in this process, and has it called. It returns how the client ended, which it does with its
// input.
func inProcess(t *testing.T, c traffic.Config, calls ...string) error {
	t.Helper()
	in, calling := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := clients.RunClient(in, out)
		ended <- errors.Join(err, out.Close())
	}()
	client := rpc.NewClient(struct {
		io.Reader
		io.WriteCloser
	}{answers, calling})
	require.NoError(t, client.Call("Client.Start", c, new(int)))
	for _, call := range calls {
		require.NoError(t, client.Call("Client."+call, 0, new(int)))
	}
	require.NoError(t, client.Close())
	select {
	case err := <-ended:
		return err
	case <-time.After(soon):
		t.Fatal("the client runs on without its harness")
		return nil
	}
}

func TestAClientEndsWithItsHarness(t *testing.T) {
	t.Parallel()
	c := plainConfig(t)
	c.Client, c.History = "a", filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, inProcess(t, c))
	require.ErrorContains(t, clients.RunClient(strings.NewReader(""), io.Discard), "not started")
}

// A client that runs in the process of a test with a locker of its own finds the goroutines of that.
func TestALockerThatIsLeftOpenIsCounted(t *testing.T) {
	t.Parallel()
	l := redlocktest.NewLocker(t, 3)
	lock, err := l.Lock(t.Context(), "open")
	require.NoError(t, err)
	defer func() { assert.NoError(t, lock.Unlock(t.Context())) }()

	dir := t.TempDir()
	c := plainConfig(t)
	c.Client, c.History = "a", filepath.Join(dir, "a.jsonl")
	require.NoError(t, inProcess(t, c, "Quit"))
	events, err := history.ReadDir(dir)
	require.NoError(t, err)
	last := events[len(events)-1]
	assert.Equal(t, history.Quitting, last.Kind)
	assert.Positive(t, last.Goroutines)
}
