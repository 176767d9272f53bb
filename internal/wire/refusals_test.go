package wire

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/node"
)

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

// One call of each group is sent again, with backoff.
func TestOneRefusedCallOfAGroupIsRetried(t *testing.T) {
	t.Parallel()
	var rs refusals
	oom, readOnly := errors.New("OOM a"), errors.New("READONLY b")
	calls := releases(4)
	assert.True(t, rs.next().IsZero())
	assert.True(t, rs.refuse(calls[0], oom, epoch))
	assert.False(t, rs.refuse(calls[1], errors.New("OOM c"), epoch), "the same reason")
	assert.True(t, rs.refuse(calls[2], readOnly, epoch.Add(time.Second)))
	assert.Equal(t, 3, rs.count())
	assert.Equal(t, epoch.Add(repeatAfter), rs.next())
	assert.Empty(t, rs.due(epoch.Add(repeatAfter-1)))
	now := epoch.Add(repeatAfter)
	assert.Equal(t, calls[:1], rs.due(now))
	assert.Equal(t, 2, rs.count(), "the retry does not wait")
	assert.Empty(t, rs.due(now.Add(repeatAfter)), "its group has a retry")
	assert.Equal(t, epoch.Add(time.Second+repeatAfter), rs.next(), "of the other group")

	backoff := repeatAfter
	for range 6 {
		assert.False(t, rs.refuse(calls[0], oom, now))
		backoff = min(2*backoff, refusalMax)
		assert.Empty(t, rs.due(now.Add(backoff-1)))
		now = now.Add(backoff)
		retries := rs.due(now)
		require.NotEmpty(t, retries)
		for _, retry := range retries { // the groups are not in order
			if retry != calls[2] {
				calls[0] = retry
			}
		}
	}
	assert.Equal(t, refusalMax, backoff)
}

func TestAnExecutedRetryEndsItsGroup(t *testing.T) {
	t.Parallel()
	rs := make(refusals)
	oom, readOnly := errors.New("OOM a"), errors.New("READONLY b")
	calls := releases(5)
	for _, c := range calls[:3] {
		rs.refuse(c, oom, epoch)
	}
	rs.refuse(calls[3], readOnly, epoch)
	again, over := rs.accept(calls[4], epoch)
	assert.Empty(t, again, "another call says nothing")
	assert.Empty(t, over)
	require.Len(t, rs.due(epoch.Add(repeatAfter)), 2)
	again, over = rs.accept(calls[0], epoch)
	assert.Equal(t, calls[1:3], again)
	assert.Equal(t, []error{oom}, over)
	again, over = rs.accept(calls[3], epoch)
	assert.Empty(t, again)
	assert.Equal(t, []error{readOnly}, over)
	assert.Empty(t, rs)
}

// A group whose calls have expired ends when the master executes any durable call.
func TestAnExpiredGroupEnds(t *testing.T) {
	t.Parallel()
	rs := make(refusals)
	oom := errors.New("OOM a")
	retry, waiting := anyCall(expiringAt(at(5)), voted), anyCall(expiringAt(at(6)), voted)
	rs.refuse(retry, oom, at(0))
	rs.refuse(waiting, oom, at(0))
	require.Equal(t, []*Call{retry}, rs.due(at(4)))
	_, over := rs.accept(anyCall(durable), at(5))
	assert.Empty(t, over, "the retry has expired, and another call waits")
	require.Equal(t, []*Call{waiting}, rs.due(at(5)))
	_, over = rs.accept(anyCall(durable), at(6))
	assert.Equal(t, []error{oom}, over)
	assert.Empty(t, rs)

	rs.refuse(anyCall(expiringAt(at(7)), voted), oom, at(6))
	assert.Empty(t, rs.due(at(8)))
	assert.True(t, rs.next().IsZero(), "nothing waits")
}

// A retry may be dropped without a reply once its key has expired. Then the next one is due.
func TestARetryThatExpiresIsFollowed(t *testing.T) {
	t.Parallel()
	rs := make(refusals)
	oom := errors.New("OOM a")
	retry, waiting := anyCall(expiringAt(at(5)), voted), anyCall(expiringAt(at(60)), voted)
	rs.refuse(retry, oom, at(0))
	rs.refuse(waiting, oom, at(0))
	require.Equal(t, []*Call{retry}, rs.due(at(4)))
	assert.Equal(t, at(5), rs.next())
	assert.Equal(t, []*Call{waiting}, rs.due(at(5)))
	assert.True(t, rs.next().IsZero(), "nothing waits behind it")
}

// There is nothing to undo if the request was never sent.
func TestARefusedCallThatUndoesNothingIsDropped(t *testing.T) {
	t.Parallel()
	rs := make(refusals)
	var written atomic.Bool
	c := anyCall(durable, voted)
	c.OnlyIfWritten = &written
	rs.refuse(c, errors.New("OOM a"), at(0))
	assert.Empty(t, rs.due(at(4)))
	assert.True(t, rs.next().IsZero())
	written.Store(true)
	rs.refuse(c, errors.New("OOM a"), at(4))
	assert.Equal(t, []*Call{c}, rs.due(at(9)))
}

// A server could put a different text into each error.
func TestManyReasonsShareAGroup(t *testing.T) {
	t.Parallel()
	var rs refusals
	calls := releases(maxReasons + 3)
	for i, c := range calls {
		isNew := rs.refuse(c, fmt.Errorf("CODE%d", i), epoch)
		assert.Equal(t, i <= maxReasons, isNew, "%d", i)
	}
	assert.Len(t, rs, maxReasons+1)
	assert.False(t, rs.refuse(anyCall(durable), errors.New("CODE3"), epoch), "its own group")
	assert.Len(t, rs["CODE3"].waiting, 2)
	assert.Len(t, rs[""].waiting, 3)
}

func TestTheRetryThatIsDueFirst(t *testing.T) {
	t.Parallel()
	var rs refusals
	for i := range maxReasons {
		rs.refuse(anyCall(durable), fmt.Errorf("CODE%d", i), epoch.Add(-time.Duration(i)*time.Second))
	}
	for range 20 { // the groups are not in order
		assert.Equal(t, epoch.Add(repeatAfter-(maxReasons-1)*time.Second), rs.next())
	}
}

func TestErrorsWrapTheirReason(t *testing.T) {
	t.Parallel()
	reason := errors.New("a reason")
	for _, err := range []error{
		&node.RefusalError{Err: reason}, &node.IdentityError{Err: reason}, &node.SuspectError{Err: reason},
		&node.RightError{Err: reason},
		&credentialsError{reason},
	} {
		assert.ErrorIs(t, err, reason)
		assert.ErrorContains(t, err, "a reason")
	}
	assert.EqualError(t, &node.RefusalError{Err: reason, Over: true}, "no longer: a reason")
}

// However many releases a master refuses, an operation looks only at the first of each group.
func TestTheCostOfAnOperationDoesNotGrowWithTheRefusedCalls(t *testing.T) {
	t.Parallel()
	const many = 30_000
	oom := errors.New("OOM a")
	rs := make(refusals)
	rs.refuse(anyCall(durable), oom, at(0))
	group := rs["OOM"]
	group.waiting = append(group.waiting, make([]*Call, many)...) // to look at a nil call panics
	group.sweepAt = 2 * many
	require.NotPanics(t, func() {
		for i := range 1000 {
			_, over := rs.accept(anyCall(durable), at(0))
			assert.Empty(t, over)
			assert.Empty(t, rs.due(at(0)))
			assert.Equal(t, at(0).Add(repeatAfter), rs.next())
			assert.False(t, rs.refuse(anyCall(durable), oom, at(0)))
			assert.Equal(t, many+2+i, rs.count())
		}
	})
}

// Refused calls that wait behind one with a long life do not stay in memory.
func TestExpiredCallsOfAGroupAreDropped(t *testing.T) {
	t.Parallel()
	rs := make(refusals)
	rs.refuse(anyCall(durable), errors.New("OOM a"), at(0))
	for i := range 100_000 {
		rs.refuse(anyCall(expiringAt(at(float64(i))), voted), errors.New("OOM a"), at(float64(i)))
	}
	assert.Less(t, rs.count(), 2*againBatch)
}

// The rest of a large group is sent again in batches, so that the calls of other locks need not queue behind all of it.
func TestALargeGroupIsSentAgainInBatches(t *testing.T) {
	t.Parallel()
	rs := make(refusals)
	oom := errors.New("OOM a")
	calls := releases(3*againBatch + 1)
	for _, c := range calls {
		rs.refuse(c, oom, at(0))
	}
	retry := rs.due(at(1))
	require.Equal(t, calls[:1], retry)
	for part := range 3 {
		again, over := rs.accept(retry[len(retry)-1], at(2))
		assert.Equal(t, calls[1+part*againBatch:1+(part+1)*againBatch], again)
		assert.Equal(t, part == 2, len(over) == 1, "it is over when nothing waits")
		retry = again
	}
	assert.Empty(t, rs)
}
