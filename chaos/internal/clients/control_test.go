package clients_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/chaos/internal/check"
	"github.com/redlock-go/redlock/chaos/internal/history"
	"github.com/redlock-go/redlock/chaos/internal/kinds"
	"github.com/redlock-go/redlock/chaos/internal/naive"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
	"github.com/redlock-go/redlock/redlocktest"
)

// Contention alone is enough to catch these controls by their history.
func TestContentionGivesNaiveLocksAway(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"exists-set", "getset-clock", "set-px-del", "setnx-expire", "semaphore-count"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			masters := redlocktest.Start(t, 3)
			f, log := newFleet(
				t, 3, traffic.Config{Lock: lock, URLs: redlocktest.URLs(masters), Groups: traffic.PlainMutexes, Seed: 3},
			)
			withRegisters(t, f)
			require.NoError(t, f.StartAll(t.Context()))
			require.Eventually(t, func() bool { return !check.Exclusion(read(t, f)).Held() }, soon, 10*look)
			require.NoError(t, f.Quit(t.Context()))
			assert.Empty(t, log.all())
		})
	}
}

// Readers may hold together, and so may the holds of one owner. All others exclude each other.
func TestTrafficGivesNaiveKindsAway(t *testing.T) {
	t.Parallel()
	shared := []traffic.Group{{
		Names: []string{"account"}, Mode: kinds.Reentrant, Owner: traffic.OwnerClient, Depth: 2, TTL: traffic.TTL,
		Hold: traffic.Hold{Usual: traffic.Span{Least: 5 * time.Millisecond, Below: 100 * time.Millisecond}}, Workers: 4,
	}}
	tests := map[string]struct {
		lock    string
		masters int
		groups  []traffic.Group
		harm    func(ctx context.Context, masters []*redlocktest.Master)
	}{
		"two keys": {"rw-two-keys", 1, traffic.ReadersAndWriters[:1], nil},
		"one hash": {"rw-one-hash", 1, traffic.ReadersAndWriters[2:3], nil},
		"a lock without such a flaw is not caught": {traffic.Quorum, 5, shared, freezeByTurns},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			masters := redlocktest.Start(t, tt.masters)
			f, log := newFleet(t, 3, traffic.Config{Lock: tt.lock, URLs: redlocktest.URLs(masters), Groups: tt.groups, Seed: 9})
			withRegisters(t, f)
			require.NoError(t, f.StartAll(t.Context()))
			ctx, heal := context.WithCancel(t.Context())
			var harming sync.WaitGroup
			if tt.harm != nil {
				harming.Go(func() { tt.harm(ctx, masters) })
			}
			caught := tt.lock != traffic.Quorum
			assert.Eventually(t, func() bool {
				events := read(t, f)
				return tooMany(events) || !caught && has(events, at(history.Acquired, "account")) > 60
			}, 2*soon, 10*look)
			assert.Equal(t, caught, tooMany(read(t, f)))
			heal()
			harming.Wait()
			require.NoError(t, f.Quit(t.Context()))
			assert.Empty(t, log.all())
		})
	}
}

// freezeByTurns freezes one master after the other, for a moment, until ctx ends.
func freezeByTurns(ctx context.Context, masters []*redlocktest.Master) {
	for i := 0; ctx.Err() == nil; i++ {
		m := masters[i%len(masters)]
		m.Freeze()
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
		m.Thaw()
	}
}

// tooMany reports whether a client acquired a name while another held it and the two may not share it.
func tooMany(events []history.Event) bool {
	held := map[string]map[history.ID]history.Event{}
	for _, e := range events {
		in := held[e.Name]
		switch e.Kind {
		case history.Acquired:
			for _, other := range in {
				together := e.Mode == kinds.Reader && other.Mode == kinds.Reader || e.Owner != "" && e.Owner == other.Owner
				if e.T < other.Until && !together {
					return true
				}
			}
			if in == nil {
				in = map[history.ID]history.Event{}
				held[e.Name] = in
			}
			in[e.ID()] = e
		case history.ReleaseCalled:
			delete(in, e.ID())
		default: // naive locks are not extended
		}
	}
	return false
}

// Every control runs the traffic of its modes.
func TestEveryControlRunsItsTraffic(t *testing.T) {
	t.Parallel()
	groups := map[string]traffic.Group{
		kinds.Mutex:  {Names: []string{"one"}, TTL: traffic.TTL, Mode: kinds.Mutex},
		kinds.Reader: {Names: []string{"one"}, TTL: traffic.TTL, Mode: traffic.ReadersWriters, Writers: 0.5},
		kinds.Reentrant: {
			Names: []string{"one"}, TTL: traffic.TTL, Mode: kinds.Reentrant, Owner: traffic.OwnerWorker, Depth: 2,
		},
	}
	groups[kinds.Semaphore] = traffic.Group{Names: []string{"one"}, TTL: traffic.TTL, Mode: kinds.Semaphore, Slots: 2}
	for _, c := range naive.All {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			g := groups[c.Modes[0]]
			g.Hold = traffic.Hold{Usual: traffic.Span{Least: time.Millisecond}}
			masters := redlocktest.Start(t, 3)
			f, log := newFleet(t, 1, traffic.Config{Lock: c.Name, URLs: redlocktest.URLs(masters), Groups: []traffic.Group{g}})
			require.NoError(t, f.StartAll(t.Context()))
			for _, m := range c.Modes {
				require.Eventually(t, func() bool {
					return has(read(t, f), func(e history.Event) bool { return e.Kind == history.Released && e.Mode == m }) > 0
				}, soon, look, m)
			}
			require.NoError(t, f.Quit(t.Context()))
			assert.Empty(t, log.all())
		})
	}
}

// Redsync and the lock under test on the same names of the same masters: two fleets, one history.
func TestAMixedFleetExcludesEachOther(t *testing.T) {
	t.Parallel()
	masters := redlocktest.Start(t, 3)
	groups := slices.Clone(traffic.PlainMutexes)
	for i := range groups { // redsync polls: while redlock's waiters get every release, it hardly finds a name free
		groups[i].Workers, groups[i].Rest = 1, traffic.Span{Least: traffic.TTL / 2, Below: 2 * traffic.TTL}
	}
	f, log := newFleet(t, 4, traffic.Config{URLs: redlocktest.URLs(masters), Groups: groups, Seed: 5})
	withRegisters(t, f)
	configure := f.Configure
	f.Configure = func(i int) traffic.Config {
		c := configure(i)
		c.Lock = []string{traffic.Quorum, traffic.Redsync}[i%2]
		return c
	}
	require.NoError(t, f.StartAll(t.Context()))
	acquired := map[string]bool{} // by client and name
	for began := time.Now(); len(acquired) < f.Size*len(
		traffic.Names("test:", traffic.PlainMutexes),
	); time.Sleep(20 * look) {
		require.Less(t, time.Since(began), 6*soon, "%v", acquired)
		for _, e := range read(t, f) {
			if e.Kind == history.Acquired {
				acquired[e.Client+" "+e.Name] = true
			}
		}
	}
	require.NoError(t, f.Quit(t.Context()))
	assert.Empty(t, log.all())
	events := read(t, f)
	assert.Empty(t, check.Exclusion(events).Findings)
	assert.Empty(t, check.WellFormed(events).Findings)
	assert.Empty(t, lostInTime(events))
}
