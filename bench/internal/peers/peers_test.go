package peers

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/redlocktest"
)

func TestEveryKindIsWhatItsRowSays(t *testing.T) {
	t.Parallel()
	urls := redlocktest.URLs(redlocktest.Start(t, QuorumMasters))
	rows := map[string]struct {
		kind   string
		depth  int
		fenced bool
		names  int
	}{
		Mutex:             {kind: "mutex", depth: 1, names: 1},
		FencedMutex:       {kind: "mutex", depth: 1, names: 1, fenced: true},
		"reader":          {kind: "reader", depth: 1, names: 1},
		"writer":          {kind: "writer", depth: 1, names: 1},
		"reentrant":       {kind: "reentrant", depth: 1, names: 1},
		"reentrant inner": {kind: "reentrant", depth: 2, names: 1},
		"three names":     {kind: "mutex", depth: 1, names: 3},
	}
	assert.Len(t, Kinds, len(rows))
	for name, want := range rows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := Named(Kinds, name)[0].Open(urls, Options{TTL: time.Minute})
			require.NoError(t, err)
			defer func() { assert.NoError(t, l.Close()) }()

			for range 2 { // an inner hold is one from the first pair on, and stays one
				held, err := l.Acquire(t.Context(), name+":1")
				require.NoError(t, err)
				lock := held.(*redlock.Lock)
				assert.Equal(t, want.fenced, lock.Fence() > 0)
				names := strings.Split(lock.Name(), ",")
				assert.Len(t, names, want.names)
				for _, n := range names {
					h, err := l.(*redlockLocker).Inspect(t.Context(), n)
					require.NoError(t, err)
					assert.EqualValues(t, want.kind, h.Kind)
					assert.Equal(t, want.depth, h.Depth)
				}
				require.NoError(t, lock.Unlock(t.Context()))
			}
		})
	}
}

func TestEveryPartNamesContestants(t *testing.T) {
	t.Parallel()
	for _, names := range [][]string{Latency, Kinds, Contended, FreeSlots, FullSlots, Far, Faulty} {
		picked := Named(names, "")
		require.Len(t, picked, len(names))
		for _, c := range picked {
			assert.NotEmpty(t, c.Setup)
			found := Named(names, Label(c.Name))
			require.Len(t, found, 1)
			assert.Equal(t, c.Name, found[0].Name)
		}
	}
	assert.Len(t, Named(Latency, "redlock,bsm/redislock,reader"), 2)
	assert.Equal(t, 8, Named(FullSlots, FewPermits)[0].Slots)
	require.NoError(t, Check("bsm/redislock,reader"))
	require.ErrorContains(t, Check("redsync,redsink"), `no contestant is called "redsink"; there are redlock, redlock-`)
	var others []string
	for _, c := range all() {
		if !Ours(c.Name) {
			others = append(others, c.Name)
		}
	}
	slices.Sort(others)
	assert.Equal(t, []string{Redislock, Redsync, RedsyncFailFast, Rueidislock}, others)
}

func TestEveryLibraryIsAModuleOfTheBenchmark(t *testing.T) {
	t.Parallel()
	mod, err := os.ReadFile("../../go.mod")
	require.NoError(t, err)
	for _, module := range libraries {
		assert.Contains(t, string(mod), "\t"+module+" v")
	}
}
