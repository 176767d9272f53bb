package wire

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func releases(n int) []*Call {
	all := make([]*Call, n)
	for i := range all {
		all[i] = anyCall(durable)
	}
	return all
}

// A batch that breaks its connection is halved until the call that breaks it is alone. That call goes alone from then
// on, with backoff, and all others get through.
func TestRecoveryFindsTheCallThatBreaksConnections(t *testing.T) {
	t.Parallel()
	calls := releases(16)
	bad := calls[5]
	r := recovery{size: maxBatch}
	r.add(calls)
	now, delivered := epoch, map[*Call]bool{}
	var triedAlone []time.Time
	for range 100 {
		due, ok := r.next()
		require.True(t, ok)
		if due.After(now) {
			now = due
		}
		batch := r.load(now)
		n, broke := len(batch), false
		require.NotZero(t, n)
		if n == 1 && batch[0] == bad {
			triedAlone = append(triedAlone, now)
		}
		for i, c := range batch {
			if c == bad {
				rest := append([]*Call(nil), batch[i:]...)
				if i > 0 {
					r.answered()
				}
				r.sent = nil
				r.broke(rest, n, i > 0, errBroken, now)
				broke = true
				break
			}
			delivered[c] = true
		}
		if !broke {
			r.sent = nil
			r.answered()
		}
		if len(triedAlone) == 6 {
			break
		}
	}
	assert.Len(t, delivered, 15)
	require.Len(t, triedAlone, 6)
	for i, wait := range []time.Duration{500, 1000, 2000, 4000, 8000} {
		assert.Equal(t, wait*time.Millisecond, triedAlone[i+1].Sub(triedAlone[i]), "try %d", i+2)
	}
}

func TestRecoveryWaitsBetweenConnections(t *testing.T) {
	t.Parallel()
	r := recovery{size: maxBatch}
	_, ok := r.next()
	assert.False(t, ok)
	r.add(releases(2))
	for _, wait := range []time.Duration{20, 40, 80, 160, 320, 500, 500} {
		r.waitLonger(errBroken, epoch)
		due, ok := r.next()
		assert.True(t, ok)
		assert.Equal(t, epoch.Add(wait*time.Millisecond), due)
	}
	r.answered()
	assert.Zero(t, r.backoff)
}

// Once the master has answered a handshake, the TTLs of the keys are running, apart from what may arrive late.
func TestRecoveryDropsExpiredCalls(t *testing.T) {
	t.Parallel()
	r := recovery{size: maxBatch}
	unknown, known := anyCall(durable, voted), anyCall(expiringAt(at(5)), voted)
	r.add([]*Call{unknown, known})
	r.dropExpired(at(5))
	assert.Equal(t, []*Call{unknown}, r.calls())
	r.connected(at(6))
	end := at(6).Add(maxRTO + initialRTO + time.Minute)
	r.dropExpired(end.Add(-1))
	assert.Len(t, r.calls(), 1)
	r.dropExpired(end)
	assert.Empty(t, r.calls())
}

func TestRecoveryHalvesABatchThatBrokeItsConnection(t *testing.T) {
	t.Parallel()
	calls := releases(16)
	r := recovery{size: maxBatch}
	r.add(calls)
	for _, want := range []int{16, 8, 4, 2, 1} {
		batch := append([]*Call(nil), r.load(epoch)...)
		require.Len(t, batch, want)
		r.sent = nil
		if want > 1 {
			r.broke(batch, len(batch), false, errBroken, epoch)
			assert.Equal(t, batch[0], r.orphans[len(r.orphans)-1].call, "the first without an answer goes last")
		}
	}
	r.answered()
	assert.Equal(t, 2, r.size, "it doubles with every answer")
	for range 20 {
		r.answered()
	}
	assert.Equal(t, maxBatch, r.size)
}
