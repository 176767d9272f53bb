package wire_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/simnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// TestStorm breaks the master at random under many callers, and checks the promises of a node that hold under every
// fault:
//
//   - every call has one vote, by its deadline;
//   - a failed call was never executed, and a granted or denied one was;
//   - every durable release is answered, so no key is left soon after the faults end;
//   - the node recovers by itself, closes when nothing can arrive late, and leaves no goroutine and no connection.
func TestStorm(t *testing.T) {
	t.Parallel()
	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}
	var counted tally
	t.Cleanup(func() {
		for v := wire.Unknown; v <= wire.Granted; v++ {
			assert.Positive(t, counted[v].Load(), "the storm was mixed: some were %v", v)
		}
	})
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := simnet.New(t, seed, 1)
				s := &storm{
					rig:     newRig(t, w, w.Master(0).URL(), node.WithDialer(w.Dial)),
					random:  rand.New(rand.NewPCG(seed, 7)),
					counted: &counted,
				}
				s.run()
			})
		})
	}
}

type storm struct {
	*rig
	random  *rand.Rand
	counted *tally
}

// tally counts verdicts.
type tally [4]atomic.Int64

// attempt is the calls of one caller with one token.
type attempt struct {
	token                     string
	acquire, extend, released *ticket
}

func (s *storm) run() {
	t := s.t
	const lasting = 10 * time.Second
	var mu sync.Mutex
	var attempts []*attempt
	var callers sync.WaitGroup
	end := time.Now().Add(lasting)
	for i := range 4 {
		random := rand.New(rand.NewPCG(s.random.Uint64(), 1))
		callers.Go(func() {
			for j := 0; time.Now().Before(end); j++ {
				a := s.attempt(random, fmt.Sprintf("%d/%d", i, j))
				mu.Lock()
				attempts = append(attempts, a)
				mu.Unlock()
				time.Sleep(time.Duration(random.Int64N(int64(200 * time.Millisecond))))
			}
		})
	}
	s.breakAndHeal(end)
	callers.Wait()
	s.world.Heal()

	s.eventually(1500*time.Millisecond, "the node works", func() bool {
		return s.ask(acquire("calm", "calm"), within(50*time.Millisecond)).result().Verdict.Answered()
	})
	s.ask(release("calm", "calm"), durably)
	s.eventually(2*time.Second, "no key is left", s.gone)
	began := time.Now()
	assert.Zero(t, s.node.Close(began.Add(time.Minute)))
	require.NoError(t, s.group.Wait())
	assert.Less(t, time.Since(began), lasting+4*time.Second, "late deliveries are awaited no longer than the storm lasted")
	synctest.Wait()
	assert.Zero(t, s.world.Open(), "connections")
	s.judge(attempts)
}

// attempt acquires the name and releases it, as a lease does.
func (s *storm) attempt(random *rand.Rand, token string) *attempt {
	due := within(time.Duration(5+random.IntN(200)) * time.Millisecond)
	var over atomic.Bool
	a := &attempt{token: token}
	a.acquire = s.ask(acquire("a", token), due, canceledBy(&over))
	if random.IntN(4) > 0 {
		a.acquire.result()
	} // or give up before it has voted
	if random.IntN(3) == 0 {
		a.extend = s.ask(extend("a", token), due, canceledBy(&over))
		if random.IntN(2) == 0 {
			a.extend.result()
		}
	}
	over.Store(true)
	a.released = s.ask(release("a", token), due, durably, firstAsked(a.acquire.call.Asked))
	if random.IntN(2) == 0 {
		a.released.result()
	}
	return a
}

// breakAndHeal breaks the master and heals it, until the end.
func (s *storm) breakAndHeal(end time.Time) {
	upTo := func(n int) time.Duration { return time.Duration(s.random.IntN(n)) * time.Millisecond }
	faults := []func(){
		s.m.Freeze,
		s.m.BlackHole,
		func() { s.m.Cut(simnet.ToMaster) },
		func() { s.m.Cut(simnet.FromMaster) },
		s.m.Refuse,
		s.m.Crash,
		s.m.Restart,
		s.m.Reset,
		s.m.FlushScripts,
		func() { s.m.Reply("LOADING Redis is loading the dataset in memory") },
		func() { s.m.Delay(upTo(40), time.Millisecond+upTo(20)) },
	}
	for time.Now().Before(end) {
		lasting := time.Duration(s.random.Int64N(int64(2 * time.Second)))
		faults[s.random.IntN(len(faults))]()
		if s.random.IntN(3) == 0 {
			s.m.Reset() // also under another fault
		}
		time.Sleep(lasting)
		if s.random.IntN(3) > 0 {
			s.world.Heal()
			time.Sleep(time.Duration(s.random.Int64N(int64(time.Second))))
		}
	}
}

// judge compares the votes with what the master executed.
func (s *storm) judge(attempts []*attempt) {
	t := s.t
	set := make(map[string]string) // token: the reply
	for _, e := range s.executed() {
		if e.Args[0] == "set" {
			require.NotContains(t, set, e.Args[2], "a call was sent twice")
			set[e.Args[2]] = e.Reply
		}
	}
	for _, a := range attempts {
		v := a.acquire.result()
		s.counted[v.Verdict].Add(1)
		reply := set[a.token]
		switch v.Verdict {
		case wire.Granted:
			assert.Equal(t, "+OK\r\n", reply)
		case wire.Denied:
			assert.Equal(t, "$-1\r\n", reply)
		case wire.Failed:
			if v.Unsent {
				assert.Empty(t, reply, "unsent: %v", v.Err)
			} else {
				assert.NotEqual(t, "+OK\r\n", reply, "failed: %v", v.Err)
			}
		case wire.Unknown:
			assert.Error(t, v.Err)
		}
		if a.extend != nil {
			a.extend.result()
		}
		a.released.result()
	}
}
