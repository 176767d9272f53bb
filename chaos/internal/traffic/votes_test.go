package traffic_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/chaos/internal/traffic"
)

// A grant of an attempt that failed was taken back. Its token says nothing about the attempt that acquired the lock.
func TestVotesAreThoseOfTheLastAttempt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		votes := traffic.NewVotes([]string{"redis://a:1", "redis://b:1", "redis://c:1"})
		trace, begin := votes.Trace(), time.Now()
		said := func(master string, fence uint64, took time.Duration) {
			trace.Vote(t.Context(), redlock.VoteEvent{
				Event: redlock.Event{Name: "x"}, Node: master, Op: "acquire", Verdict: "granted", Fence: fence, Took: took,
			})
		}
		fences := func() map[int]uint64 {
			all := map[int]uint64{}
			for _, v := range votes.Since("x", begin) {
				all[v.Master] = v.Fence
			}
			return all
		}
		time.Sleep(time.Millisecond)
		said("a:1", 1, time.Millisecond)
		assert.Equal(t, map[int]uint64{0: 1}, fences())
		trace.Waiting(t.Context(), redlock.WaitingEvent{Event: redlock.Event{Name: "y"}})
		assert.Equal(t, map[int]uint64{0: 1}, fences(), "the attempt was for another lock")
		trace.Waiting(t.Context(), redlock.WaitingEvent{Event: redlock.Event{Name: "x"}})
		assert.Empty(t, fences())
		time.Sleep(time.Millisecond)
		said("b:1", 2, time.Millisecond)
		said("c:1", 1, 2*time.Millisecond)
		assert.Equal(t, map[int]uint64{1: 2}, fences(), "the vote of c is late")
		trace.Vote(t.Context(), redlock.VoteEvent{Event: redlock.Event{Name: "x"}, Node: "b:1", Op: "raise", Fence: 3})
		assert.Equal(t, map[int]uint64{1: 3}, fences())
		time.Sleep(time.Millisecond)
		said("b:1", 4, 0) // asked again, without a wait
		said("c:1", 2, 2*time.Millisecond-time.Microsecond)
		assert.Equal(t, map[int]uint64{1: 4}, fences(), "the vote of c is late again")
		said("a:1", 4, 0)
		assert.Equal(t, map[int]uint64{0: 4, 1: 4}, fences())
	})
}
