package quorum_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

func TestNewRefusesInvalidMasters(t *testing.T) {
	t.Parallel()
	named := func(names ...string) []quorum.Node {
		var nodes []quorum.Node
		for _, n := range names {
			nodes = append(nodes, &fake{name: n})
		}
		return nodes
	}
	for _, tt := range []struct {
		name  string
		nodes []quorum.Node
		want  []string // parts of the error
	}{
		{"none", nil, []string{"no masters", "odd number"}},
		{"two", named("a", "b"), []string{"2 masters", "no more failures than 1"}},
		{"four", named("a", "b", "c", "d"), []string{"4 masters", "no more failures than 3"}},
		{"one twice", named("a", "b", "a"), []string{"a is given twice"}},
		{"a nil one", append(named("a", "b"), nil), []string{"master 3 of 3 is nil"}},
		{
			"one that belongs to another",
			[]quorum.Node{&fake{name: "a", bindErr: node.ErrBound}},
			[]string{"master a", node.ErrBound.Error()},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := quorum.New(quorum.Config{Nodes: tt.nodes, Clock: clock.System})
			require.Error(t, err)
			for _, part := range tt.want {
				assert.ErrorContains(t, err, part)
			}
		})
	}
}

// With the 8 bytes that the allocator adds, 888 bytes fill its size class of 896. The next one has 1,024.
func TestARoundOfFiveNodesFillsItsSizeClass(t *testing.T) {
	t.Parallel()
	assert.LessOrEqual(t, quorum.SizeOfRound(), uintptr(888))
}

func TestOnHealthNamesTheNode(t *testing.T) {
	t.Parallel()
	var reports []string
	_, fakes := council(t, 3, func(c *quorum.Config) {
		c.OnHealth = func(node string, err error) { reports = append(reports, fmt.Sprint(node, " ", err)) }
	})
	fakes[1].onHealth(errDown)
	fakes[2].onHealth(nil)
	assert.Equal(t, []string{"B down", "C <nil>"}, reports)
}

// So is the straggler that came after the decision, and a request that could not be sent. One that was not sent because
// its lock has ended is no event. The grant of a server that restarted on a reserved node is a grant.
func TestEveryVoteOnARequestIsTraced(t *testing.T) {
	t.Parallel()
	var reports []string
	q, fakes := council(t, 3, func(c *quorum.Config) {
		c.OnVote = func(master string, op *wire.Op, v wire.Vote) {
			reports = append(reports, fmt.Sprint(master, " ", op.Name, " ", v.Verdict, " ", v.Err, v.Guarded))
		}
	})
	answer(fakes, granted(), granted(), unsent())
	lease := acquired(t, q, &terms)
	fakes[1].answers(guarded())
	fakes[2].answers(&wire.Vote{Verdict: wire.Failed, Unsent: true})
	lease.Extend(func(err error) { require.NoError(t, err) })
	lease.Release(false, func(_ int64, err error) { require.NoError(t, err) })
	assert.Equal(t, []string{
		"A acquire granted <nil> false", "B acquire granted <nil> false", "C acquire failed down false",
		"A extend granted <nil> false", "B extend granted <nil> false",
		"A release granted <nil> false", "B release granted <nil> false",
	}, reports)
}

func TestDuplicatesAreReportedOnce(t *testing.T) {
	t.Parallel()
	permutations(3, func(order []int) {
		synctest.Test(t, func(t *testing.T) {
			var reports []string
			q, fakes := council(t, 3, func(c *quorum.Config) {
				c.OnDuplicate = func(node, other string) { reports = append(reports, node+" "+other) }
			})
			for range 3 {
				out := acquire(t, q, quorum.NoFirst)
				for _, i := range order {
					fakes[i].vote(t, "acquire", from([]string{"x", "y", "x"}[i], granted()))
				}
				require.NoError(t, decided(t, out).err)
			}
			assert.Equal(t, []string{"A C"}, reports, "votes in the order %v", order)
			assert.Equal(t, []int64{3, 0, 3}, []int64{q.Duplicates(0), q.Duplicates(1), q.Duplicates(2)})
		})
	})
}

func TestCloseWaitsForGoroutinesAndNamesUnconfirmedNodes(t *testing.T) {
	inCouncil(t, 3, func(t *testing.T, q *quorum.Quorum, fakes []*fake) {
		var ended atomic.Bool
		finish := make(chan struct{})
		fakes[1].spawn(func() error {
			<-finish
			ended.Store(true)
			return errors.New("ignored")
		})
		fakes[2].left = 1
		deadline := time.Now().Add(time.Second)
		unconfirmed := make(chan []string, 1)
		go func() { unconfirmed <- q.Close(deadline) }()
		synctest.Wait()
		assert.Empty(t, unconfirmed, "closed while a goroutine runs")
		close(finish)
		assert.Equal(t, []string{"C"}, <-unconfirmed)
		assert.True(t, ended.Load())
		for _, f := range fakes {
			assert.Equal(t, deadline, f.closeBy)
		}
	})
}

// listening is a waiter that listens to the releases of "x" on fakes.
type listening struct {
	t        *testing.T
	q        *quorum.Quorum
	fakes    []*fake
	listener *quorum.Listener
	news     int // how often the listener said that there may be news
}

func listen(t *testing.T, n int) *listening {
	t.Helper()
	l := &listening{t: t}
	l.q, l.fakes = council(t, n)
	l.listener = l.q.Listen(func() { l.news++ }, "x")
	return l
}

// messages delivers messages of nodes.
func (l *listening) messages(indexes ...int) {
	for _, i := range indexes {
		l.fakes[i].subscribers["x"][0]("")
	}
}

func (l *listening) isWoken() bool { return l.listener.Take() }

// probe has the waiter ask the nodes, with these votes, and wait again. The votes of nil come from no node.
func (l *listening) probe(votes ...*wire.Vote) {
	l.t.Helper()
	for i, v := range votes {
		l.fakes[i].answers(v)
	}
	_, _ = l.q.Probe(l.t.Context(), wire.Command("look", nil), terms.Timeout, true, nil, l.listener)
}

func TestAMajorityOfMessagesWakesTheWaiterOnce(t *testing.T) {
	t.Parallel()
	l := listen(t, 5)
	for range 3 {
		l.messages(0, 0, 0, 1)
		assert.False(t, l.isWoken(), "two nodes, one of them three times, are no majority")
		l.messages(2)
		assert.True(t, l.isWoken())
		l.messages(3, 4) // while the waiter tries, and is denied
		l.probe(denied(), denied(), denied(), denied(), denied())
		assert.False(t, l.isWoken(), "the messages of one release wake once")
	}
	l.listener.Stop()
	for _, f := range l.fakes {
		assert.Equal(t, 1, f.stopped)
	}
}

func TestAMessageDuringTheProbeCounts(t *testing.T) {
	t.Parallel()
	l := listen(t, 3)
	l.fakes[0].script = func(string) *wire.Vote {
		l.messages(0) // released after the probe was executed
		return denied()
	}
	l.fakes[1].answers(denied())
	l.fakes[2].answers(failed())
	_, _ = l.q.Probe(t.Context(), wire.Command("look", nil), terms.Timeout, true, nil, l.listener)
	assert.False(t, l.isWoken())
	l.messages(1)
	assert.True(t, l.isWoken())
}

func TestAMessageCountsIfTheProbeFindsItsMasterFree(t *testing.T) {
	t.Parallel()
	l := listen(t, 3)
	l.messages(0)
	l.probe(granted(), denied(), denied())
	l.messages(1)
	assert.True(t, l.isWoken())
}

// Nobody waits while the attempt of the waiter that was woken is in progress: the news are repeated until they are
// taken.
func TestNewsAreRepeatedUntilTheyAreTaken(t *testing.T) {
	t.Parallel()
	l := listen(t, 5)
	l.messages(0, 1)
	assert.Zero(t, l.news)
	l.messages(2)
	assert.Equal(t, 1, l.news)
	l.messages(3, 4)
	assert.Equal(t, 3, l.news)
	assert.True(t, l.isWoken(), "also if the waiter was not waiting yet")
	assert.False(t, l.isWoken(), "they woke the waiter before")
	l.messages(0)
	assert.Equal(t, 4, l.news)
	assert.True(t, l.isWoken(), "without a probe, the messages still count")
}

// The waiter tries again by itself.
func TestMessagesOfAMajorityThatIsFreeDoNotWakeAgain(t *testing.T) {
	t.Parallel()
	l := listen(t, 5)
	l.messages(0, 1, 2)
	require.True(t, l.isWoken())
	l.probe(granted(), granted(), granted(), granted(), granted())
	l.messages(3, 4)
	assert.False(t, l.isWoken())
	l.messages(0)
	assert.True(t, l.isWoken(), "a majority of new messages")
}

func TestFirstNodeSkipsSuspects(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 3)
	assert.Equal(t, 1, q.FirstNode("a"), "the name alone decides")
	assert.Equal(t, q.FirstNode("a"), q.FirstNode("a"))
	fakes[1].suspect = true
	assert.Equal(t, 2, q.FirstNode("a"), "the next one in order")
	fakes[2].suspect = true
	assert.Equal(t, 0, q.FirstNode("a"), "around the end")
	fakes[0].suspect = true
	assert.Equal(t, quorum.NoFirst, q.FirstNode("a"), "all nodes are suspect")
}

// Processes that list the masters in another order pick the same first node.
func TestFirstNodeDoesNotDependOnTheOrderOfTheNodes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "c", "g"} { // each has another first node
		var names []string
		permutations(3, func(order []int) {
			q, fakes := council(t, 3, func(c *quorum.Config) {
				nodes := make([]quorum.Node, 3)
				for i, index := range order {
					nodes[i] = c.Nodes[index]
				}
				c.Nodes = nodes
			})
			names = append(names, fakes[order[q.FirstNode(name)]].name)
		})
		for _, name := range names {
			assert.Equal(t, names[0], name)
		}
	}
}

func TestAListenerKeepsTheLastTextUntilItIsTaken(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 3)
	l := q.Listen(func() {}, "x")
	say := func(i int, text string) { fakes[i].subscribers["x"][0](text) }
	assert.Empty(t, l.TakeText())
	say(0, "a")
	say(1, "b")
	say(2, "")
	assert.Equal(t, "b", l.TakeText(), "a message without a text replaces none")
	assert.Empty(t, l.TakeText())
}

// Nodes may vote at once. The callbacks then run in the call, but never with a mutex of the lease.
func TestACallbackMayUseTheLeaseAndPanic(t *testing.T) {
	t.Parallel()
	var lease *quorum.Lease
	traced := 0
	q, fakes := council(t, 3, func(c *quorum.Config) {
		c.OnVote = func(_ string, op *wire.Op, _ wire.Vote) {
			if op.Name != "acquire" {
				traced++
				lease.HandOver(ops{})
				panic("a callback")
			}
		}
	})
	lease = held(t, q, fakes)
	answerAll(fakes, granted())
	done, extended := newDone(t)
	assert.Panics(t, func() { lease.Extend(done) })
	require.NoError(t, extended())
	assert.Equal(t, 3, traced, "each vote once")
	done, released := newDone(t)
	assert.Panics(t, func() { lease.Release(false, ignoringSubscribers(done)) })
	require.NoError(t, released())
}
