package register_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/register"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start starts a register. It returns a function that closes the register and returns its history.
func start(t *testing.T, kind string) (*register.Register, func() []history.Event) {
	t.Helper()
	dir := t.TempDir()
	r, err := register.Start(kind, filepath.Join(dir, "register.jsonl"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = r.Close() }) // the test may have closed it
	return r, func() []history.Event {
		require.NoError(t, r.Close())
		events, err := history.ReadDir(dir)
		require.NoError(t, err)
		return events
	}
}

func dial(t *testing.T, r *register.Register) *register.Client {
	t.Helper()
	c, err := register.Dial(r.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func holder(client string, fence uint64) history.Event {
	return history.Event{Name: "orders", Client: client, Life: 1, Worker: 2, Op: 3, Mode: kinds.Mutex, Fence: fence}
}

// written writes, and returns why the register refuses that.
func written(t *testing.T, c *register.Client, q history.Event) (rejected string) {
	t.Helper()
	require.NoError(t, c.Write(q, &rejected))
	return rejected
}

// A holder pauses: it reads, another holder reads and writes, and then it writes.
func TestOnlyTheTrustingOneTakesALateWrite(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]history.Event{
		history.Trusting: {Kind: history.Written}, history.Fenced: {Kind: history.Rejected, Err: "33 is smaller than 34"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, events := start(t, kind)
			paused, next := dial(t, r), dial(t, r)
			a, b := holder("a", 33), holder("b", 34)
			require.NoError(t, paused.Read(a, &a.From))
			require.NoError(t, next.Read(b, &b.From))
			a.Value, b.Value = a.From+1, b.From+1
			assert.Empty(t, written(t, next, b))
			assert.Equal(t, kind == history.Trusting, written(t, paused, a) == "")
			all := events()
			last := all[len(all)-1]
			assert.Positive(t, last.T)
			assert.Contains(t, last.Err, want.Err)
			a.Kind, a.Register, a.T, a.Err = want.Kind, kind, last.T, last.Err
			assert.Equal(t, a, last)
		})
	}
}

func TestTheFencedOneHeedsTokensOfReads(t *testing.T) {
	t.Parallel()
	r, events := start(t, history.Fenced)
	c := dial(t, r)
	next := holder("b", 34)
	require.NoError(t, c.Read(next, new(int64)))
	late := holder("a", 33)
	late.Value = 1
	assert.NotEmpty(t, written(t, c, late), "b has read what a would change")
	next.Value = 1
	assert.Empty(t, written(t, c, next))
	assert.Empty(t, written(t, c, next), "the same token again, as a reentrant holder has it")
	assert.NotEmpty(t, written(t, c, holder("c", 0)))
	require.NoError(t, c.Read(holder("a", 1), new(int64)), "who is stale may read")
	assert.Len(t, events(), 6)
}

func TestNamesHaveCountersOfTheirOwn(t *testing.T) {
	t.Parallel()
	r, _ := start(t, history.Fenced)
	const each = 50
	var all sync.WaitGroup
	for i := range 4 {
		c := dial(t, r)
		all.Go(func() {
			q := history.Event{Name: fmt.Sprintf("n%d", i), Client: "c"}
			for range each {
				assert.NoError(t, c.Read(q, &q.From))
				q.Value = q.From + 1
				assert.NoError(t, c.Write(q, new(string)))
			}
			assert.EqualValues(t, each, q.Value)
		})
	}
	all.Wait()
}

func TestAClosedRegisterHangsUp(t *testing.T) {
	t.Parallel()
	r, events := start(t, history.Trusting)
	c := dial(t, r)
	require.NoError(t, c.Read(holder("a", 0), new(int64)))
	events()
	require.Error(t, c.Read(holder("a", 0), new(int64)))
}
