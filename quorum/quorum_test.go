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
	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

func TestNewRefusesWhatCannotDecide(t *testing.T) {
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
		{"one that belongs to another", []quorum.Node{&fake{name: "a", bindErr: node.ErrBound}}, []string{"master a", node.ErrBound.Error()}},
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

func TestMajorities(t *testing.T) {
	t.Parallel()
	for n, need := range map[int]int{1: 1, 3: 2, 5: 3, 7: 4} {
		q, _ := council(t, n)
		assert.Equal(t, need, q.Majority(), "of %d", n)
	}
}

func TestStandingSaysOfWhichNode(t *testing.T) {
	t.Parallel()
	var told []string
	_, fakes := council(t, 3, func(c *quorum.Config) {
		c.Standing = func(node string, err error) { told = append(told, fmt.Sprint(node, " ", err)) }
	})
	fakes[1].tell(errDown)
	fakes[2].tell(nil)
	assert.Equal(t, []string{"B down", "C <nil>"}, told)
}

func TestEveryVoteIsTraced(t *testing.T) {
	t.Parallel()
	var told []string
	q, fakes := council(t, 3, func(c *quorum.Config) {
		c.Voted = func(master string, op *node.Op, v node.Vote) {
			told = append(told, master+" "+op.Name+" "+v.Verdict.String())
		}
	})
	fakes[0].answers(granted())
	fakes[1].answers(granted())
	fakes[2].answers(failed())
	_, err := q.Acquire(t.Context(), ops{}, terms, quorum.Everywhere, q.NewFaults())
	require.NoError(t, err)
	assert.Equal(t, []string{"A acquire granted", "B acquire granted", "C acquire failed"}, told,
		"the straggler that came after the decision too")
}

func TestTwinsAreToldOfOnce(t *testing.T) {
	t.Parallel()
	permutations(3, func(order []int) {
		synctest.Test(t, func(t *testing.T) {
			var told []string
			q, fakes := council(t, 3, func(c *quorum.Config) {
				c.Twins = func(node, twin string) { told = append(told, node+" "+twin) }
			})
			for range 3 {
				out := acquire(t, q, quorum.Everywhere)
				for _, i := range order {
					fakes[i].vote(t, "acquire", from([]string{"x", "y", "x"}[i], granted()))
				}
				require.NoError(t, decided(t, out).err)
			}
			assert.Equal(t, []string{"A C"}, told, "votes in the order %v", order)
		})
	})
}

func TestCloseWaitsForGoroutinesAndNamesWhatIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q, fakes := council(t, 3)
		var ended atomic.Bool
		let := make(chan struct{})
		fakes[1].spawn(func() error {
			<-let
			ended.Store(true)
			return errors.New("its own affair")
		})
		fakes[2].left = 2
		deadline := time.Now().Add(time.Second)
		unconfirmed := make(chan []string, 1)
		go func() { unconfirmed <- q.Close(deadline) }()
		synctest.Wait()
		assert.Empty(t, unconfirmed, "closed while a goroutine runs")
		close(let)
		assert.Equal(t, []string{"C"}, <-unconfirmed)
		assert.True(t, ended.Load())
		for _, f := range fakes {
			assert.Equal(t, deadline, f.closeBy)
		}
	})
}

func TestListenHearsAMajority(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 5)
	heard := 0
	stop := q.Listen("x", func() { heard++ })
	say := func(i int) { fakes[i].heard["x"][0]() }

	say(0)
	say(0)
	say(0)
	say(1)
	assert.Zero(t, heard, "two nodes, one of them three times, are no majority")
	say(2)
	assert.Equal(t, 1, heard)
	say(3)
	say(4)
	assert.Equal(t, 1, heard, "what comes late is not heard again")
	say(0)
	assert.Equal(t, 2, heard, "but counts for the next time")

	stop()
	for _, f := range fakes {
		assert.Equal(t, 1, f.stopped)
	}
}

func TestScoutSkipsSuspects(t *testing.T) {
	t.Parallel()
	q, fakes := council(t, 3)
	assert.Equal(t, 1, q.Scout(4), "by the hash, the same for everybody")
	assert.Equal(t, q.Scout(4), q.Scout(4))
	fakes[1].suspect = true
	assert.Equal(t, 2, q.Scout(4), "the next one in order")
	fakes[2].suspect = true
	assert.Equal(t, 0, q.Scout(4), "around the end")
	fakes[0].suspect = true
	assert.Equal(t, quorum.Everywhere, q.Scout(4), "nobody is left to be asked first")
}
