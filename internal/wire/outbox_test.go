package wire

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/node"
)

var errOOM, errReadOnly = errors.New("OOM a"), errors.New("READONLY b")

func releases(n int) []*Call {
	all := make([]*Call, n)
	for i := range all {
		all[i] = anyCall(durable)
	}
	return all
}

// refuse records that the master refused calls at now.
func (o *outbox) refuse(err error, now time.Time, calls ...*Call) {
	for _, c := range calls {
		o.refused(c, err, now)
	}
}

// orphan adds calls whose connection ended.
func (o *outbox) orphan(calls ...*Call) {
	for _, c := range calls {
		o.owe(owedUnanswered, epoch, epoch, c)
	}
}

func TestRefusalsAreGroupedByTheirReason(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"OOM command not allowed":                     "OOM",
		"NOPERM this user has no permissions":         "NOPERM",
		"ERR max number of clients reached":           "ERR max number",
		"ERR unknown":                                 "ERR unknown",
		"ERR user_script:1: read only table, redlock": "ERR user_script:1: read",
		"":  "",
		" ": "",
	} {
		assert.Equal(t, want, reasonOf(errors.New(text)), "%q", text)
	}
}

// The last call that is being sent again may be dropped: what it undoes was never written. The others must not wait for
// its answer.
func TestARefusedLaneDoesNotWaitForANeedlessCall(t *testing.T) {
	t.Parallel()
	var o outbox
	calls := releases(2)
	calls[0].Written = new(atomic.Bool)
	o.refuse(errOOM, epoch, calls...)
	now := epoch.Add(repeatAfter)
	require.Equal(t, calls[:1], o.takeMain(now))
	voted(calls[0])
	assert.Equal(t, calls[1:], o.takeMain(now.Add(repeatAfter)))
}

// One call of each reason is sent again, with backoff.
func TestOneRefusedCallOfAReasonIsSentAgain(t *testing.T) {
	t.Parallel()
	var o outbox
	calls := releases(4)
	assert.True(t, o.dueMain().IsZero())
	assert.True(t, o.refused(calls[0], errOOM, epoch))
	assert.False(t, o.refused(calls[1], errors.New("OOM c"), epoch), "the same reason")
	assert.True(t, o.refused(calls[2], errReadOnly, epoch.Add(time.Second)))
	assert.Equal(t, 3, o.countMain())
	assert.Equal(t, epoch.Add(repeatAfter), o.dueMain())
	assert.Empty(t, o.takeMain(epoch.Add(repeatAfter-1)))
	now := epoch.Add(repeatAfter)
	assert.Equal(t, calls[:1], o.takeMain(now))
	assert.Equal(t, 2, o.countMain(), "a call that is sent does not wait")
	assert.Empty(t, o.takeMain(now.Add(repeatAfter)), "a call with its reason is being sent")
	assert.Equal(t, epoch.Add(time.Second+repeatAfter), o.dueMain(), "of the other reason")
	require.Equal(t, calls[2:3], o.takeMain(now.Add(time.Second)))

	sent := calls[0]
	for _, backoff := range []time.Duration{2 * repeatAfter, repeatMax, repeatMax} {
		assert.False(t, o.refused(sent, errOOM, now))
		assert.Empty(t, o.takeMain(now.Add(backoff-1)))
		now = now.Add(backoff)
		again := o.takeMain(now)
		require.Len(t, again, 1)
		assert.NotSame(t, sent, again[0], "they take turns")
		sent = again[0]
	}
}

// When the master executes a call, twice as many follow, so that the calls of other locks need not queue behind all.
func TestAnExecutedCallIsFollowedByTheOthersOfItsReason(t *testing.T) {
	t.Parallel()
	var o outbox
	const rest = 44
	calls := releases(1 + 2 + 4 + 8 + 16 + 32 + 64 + 128 + maxOwed + rest)
	o.refuse(errOOM, epoch, calls...)
	o.refuse(errReadOnly, epoch, releases(1)...)
	now := epoch.Add(repeatAfter - 1)
	assert.Empty(t, o.executed(anyCall(durable), now), "another call says nothing")
	assert.Empty(t, o.takeMain(now))
	now = epoch.Add(repeatAfter)
	again := o.takeMain(now)
	require.Equal(t, calls[0], again[0])
	require.Len(t, again, 2, "one of each reason")
	assert.Equal(t, []error{errReadOnly}, o.executed(again[1], now))
	sent := 0
	for _, size := range []int{1, 2, 4, 8, 16, 32, 64, 128, maxOwed, rest} {
		sent += size
		last := calls[sent-1]
		over := o.executed(last, now)
		again = o.takeMain(now)
		assert.Equal(t, sent == len(calls), len(over) == 1, "it is over when nothing waits")
		if next := min(2*size, maxOwed, len(calls)-sent); next > 0 {
			require.Equal(t, calls[sent:sent+next], again)
		}
	}
	assert.Empty(t, again)
	assert.Empty(t, o)

	o.refuse(errOOM, now, calls[:3]...)
	require.Len(t, o.takeMain(now.Add(repeatAfter)), 1)
	o.executed(calls[0], now)
	require.Equal(t, calls[1:3], o.takeMain(now))
	o.refuse(errOOM, now, calls[1:3]...)
	assert.Len(t, o.takeMain(now.Add(repeatAfter)), 1, "one at a time after a failure")
}

// A reason whose calls have expired is over when the master executes any durable call.
func TestAReasonWhoseCallsHaveExpiredIsOver(t *testing.T) {
	t.Parallel()
	var o outbox
	first, second := anyCall(expiringAt(at(5)), voted), anyCall(expiringAt(at(6)), voted)
	o.refuse(errOOM, at(0), first, second)
	require.Equal(t, []*Call{first}, o.takeMain(at(4)))
	assert.Equal(t, at(5), o.dueMain(), "it gets no reply if it is in the queue when it expires")
	assert.Empty(t, o.executed(anyCall(durable), at(5)), "another call waits")
	require.Equal(t, []*Call{second}, o.takeMain(at(5)))
	assert.True(t, o.dueMain().IsZero(), "nothing waits behind it")
	assert.Equal(t, []error{errOOM}, o.executed(anyCall(durable), at(6)))
	assert.Empty(t, o)

	o.refuse(errOOM, at(6), anyCall(expiringAt(at(7)), voted))
	assert.Empty(t, o.takeMain(at(8)))
	assert.True(t, o.dueMain().IsZero(), "nothing waits")
}

// What has its vote is dropped when it has nothing to undo any more.
func TestWhichOwedCallsAreDropped(t *testing.T) {
	t.Parallel()
	needless := func(c *Call) { c.Written = new(atomic.Bool) }
	for name, tt := range map[string]struct {
		call *Call
		kept bool
	}{
		"the keys may exist":            {anyCall(durable, voted), true},
		"they expire later":             {anyCall(expiringAt(at(8)), voted), true},
		"they have expired":             {anyCall(expiringAt(at(7)), voted), false},
		"they have, but it has no vote": {anyCall(expiringAt(at(7))), true},
		"they were never set":           {anyCall(durable, voted, needless), false},
		"they were not, no vote":        {anyCall(durable, needless), true},
	} {
		for cause := owedRefused; cause <= owedBreaker; cause++ {
			o := outbox{{key: laneKey{cause: cause}, calls: []owed{{tt.call, at(0)}}, limit: 1}}
			o.drop(at(7))
			assert.Equal(t, tt.kept, !o.dueOver(cause.onlySpare()).IsZero(), "%s, cause %d", name, cause)
		}
	}
}

// A server could put a different text into each error.
func TestManyReasonsShareALane(t *testing.T) {
	t.Parallel()
	var o outbox
	o.orphan(releases(1)...)
	for i, c := range releases(maxReasons + 3) {
		isNew := o.refused(c, fmt.Errorf("CODE%d", i), epoch)
		assert.Equal(t, i <= maxReasons, isNew, "%d", i)
	}
	assert.Len(t, o, maxReasons+2)
	assert.False(t, o.refused(anyCall(durable), errors.New("CODE3"), epoch), "its own lane")
	assert.Len(t, o[4].calls, 2)
	assert.Len(t, o[maxReasons+1].calls, 3)
}

func TestErrorsWrapTheirReason(t *testing.T) {
	t.Parallel()
	reason := errors.New("a reason")
	for _, err := range []error{
		&node.RefusalError{Err: reason}, &node.IdentityError{Err: reason}, &node.SuspectError{Err: reason},
		&node.RightError{Err: reason},
	} {
		assert.ErrorIs(t, err, reason)
		assert.ErrorContains(t, err, "a reason")
	}
	assert.EqualError(t, &node.RefusalError{Err: reason, Over: true}, "no longer: a reason")
	assert.EqualError(t, &node.SuspectError{Err: reason}, "not asked, it failed a moment ago: a reason")
}

// However many releases a master refuses, an operation looks only at the first and the last of each reason.
func TestTheCostOfAnOperationDoesNotGrowWithTheRefusedCalls(t *testing.T) {
	t.Parallel()
	const many = 30_000
	var o outbox
	o.refuse(errOOM, at(0), releases(1)...)
	o[0].calls = append(o[0].calls, make([]owed, many)...) // to look at a nil call panics
	o[0].sweepAt = 2 * many
	require.NotPanics(t, func() {
		for i := range 1000 {
			assert.Empty(t, o.executed(anyCall(durable), at(0)))
			assert.Empty(t, o.takeMain(at(0)))
			assert.Equal(t, at(0).Add(repeatAfter), o.dueMain())
			assert.False(t, o.refused(anyCall(durable), errOOM, at(0)))
			assert.Equal(t, many+2+i, o.countMain())
		}
	})
}

// Calls that wait behind one with a long life do not stay in memory.
func TestExpiredCallsBehindAnotherAreDropped(t *testing.T) {
	t.Parallel()
	var o outbox
	o.refuse(errOOM, at(0), releases(1)...)
	for i := range 100_000 {
		o.refuse(errOOM, at(float64(i)), anyCall(expiringAt(at(float64(i))), voted))
	}
	assert.Less(t, o.countMain(), 2*maxOwed)
}

// Every call that is due is sent, in the order in which they are due.
func TestLateCallsAreSentWhenTheyAreDue(t *testing.T) {
	t.Parallel()
	var o outbox
	calls := releases(4)
	for i, due := range []float64{3, 1, 2, 1} {
		o.owe(owedLate, at(due), at(0), calls[i])
	}
	assert.Equal(t, at(1), o.dueMain())
	assert.Empty(t, o.takeMain(at(0.9)))
	assert.Equal(t, []*Call{calls[1], calls[3], calls[2]}, o.takeMain(at(2)), "equal times in their order")
	assert.Equal(t, at(3), o.dueMain())
	assert.Equal(t, calls[:1], o.takeMain(at(10)))
	assert.Zero(t, o.dueMain())
	o.owe(owedLate, at(20), at(10), calls[0])
	o.refuse(errOOM, at(10), calls[1])
	assert.Equal(t, at(10).Add(repeatAfter), o.dueMain(), "a refused one does not wait for a late one")
}

// A call that breaks its connections is found, whatever the size of its batch, and is then sent alone with backoff. All
// others get through.
func TestTheCallThatBreaksConnectionsIsFound(t *testing.T) {
	t.Parallel()
	for inOrder := range map[bool]bool{true: true, false: true} { // false: the link does not report where it broke
		var o outbox
		calls := releases(16)
		bad := calls[5]
		o.orphan(calls...)
		now, delivered, connections := epoch, map[*Call]bool{}, 0
		var alone []time.Time
		for len(alone) < 5 || len(delivered) < 15 {
			require.Less(t, connections, 30)
			now = later(now, o.dueSpare())
			l, batch := o.takeSpare(now)
			require.NotEmpty(t, batch)
			if len(batch) == 1 && batch[0] == bad {
				alone = append(alone, now)
			}
			broke := -1
			for i, c := range batch {
				if c == bad {
					broke = i
				}
			}
			switch {
			case broke < 0:
				broke = len(batch)
				l.succeeded()
			case !inOrder:
				broke = 0
				fallthrough
			default:
				connections++
				o.broke(l, len(batch), batch[broke:], now)
			}
			for _, c := range batch[:broke] {
				delivered[c] = true
			}
		}
		assert.Len(t, delivered, 15)
		for i := range alone[1:] {
			wait := alone[i+1].Sub(alone[i])
			assert.LessOrEqual(t, wait, repeatMax)
			assert.GreaterOrEqual(t, wait, repeatAfter)
		}
	}
}

func TestTheSparesCallsDoNotGoOverTheMainConnection(t *testing.T) {
	t.Parallel()
	var o outbox
	calls := releases(3)
	o.orphan(calls...)
	assert.Empty(t, o.takeMain(at(99)))
	assert.Zero(t, o.dueMain())
	assert.Zero(t, o.countMain())
	assert.Equal(t, calls, slices.Collect(o.orphans))
	l, batch := o.takeSpare(epoch)
	assert.Equal(t, calls, batch)
	o.broke(l, 3, batch, epoch)
	_, batch = o.takeSpare(epoch)
	assert.Equal(t, calls[1:2], batch, "half as many")
	l.succeeded()
	_, batch = o.takeSpare(epoch)
	assert.Equal(t, calls[2:], batch)
	_, batch = o.takeSpare(epoch)
	assert.Empty(t, batch)
	assert.Equal(t, epoch.Add(repeatAfter), o.dueSpare(), "the first without an answer waits")
	o.refuse(errOOM, epoch, calls[1:]...)
	l, batch = o.takeSpare(epoch.Add(time.Hour))
	assert.Equal(t, calls[:1], batch)
	assert.Equal(t, owedBreaker, l.key.cause)
}
