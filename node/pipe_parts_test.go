package node

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/clock"
)

// idlePipe returns a pipe that starts no goroutine, and counts those that it would start.
func idlePipe() (p *pipe, started *int) {
	p, started = newPipe(clock.System, nil), new(int)
	p.spawn = func(func() error) { *started++ }
	return p, started
}

// fakeLink is a link that does nothing.
type fakeLink struct{ link }

func (fakeLink) server() *Server { return aServer }

func TestUntilWhenAClosingPipeRepeatsReleases(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*state){
		"an orphan":             func(s *state) { s.recovery.orphans = []orphan{{call: anyCall(durable), due: at(10)}} },
		"after a lost delivery": func(s *state) { s.late.schedule(anyCall(durable), at(10)) },
		"after a refusal":       func(s *state) { s.refusals.refuse(anyCall(durable), errBroken, at(10).Add(-repeatAfter)) },
	} {
		p, _ := idlePipe()
		assert.False(t, p.repeatsBy(at(10)), name)
		prepare(&p.state)
		assert.False(t, p.repeatsBy(at(9.9)), name)
		assert.True(t, p.repeatsBy(at(10)), name)
	}
	p, _ := idlePipe()
	p.recovery.running = true
	assert.True(t, p.repeatsBy(at(10)))
	assert.NotNil(t, p.beginClose(at(10)))
	assert.Nil(t, p.beginClose(at(10)), "it is being closed")
}

func TestADriverIsStartedOnce(t *testing.T) {
	t.Parallel()
	p, started := idlePipe()
	p.state.calls.push(anyCall())
	for range 2 {
		p.startDriver(at(9), &effects{})
		assert.Len(t, p.driver.work, 1)
		<-p.driver.work
		p.driver.running = false
	}
	assert.Equal(t, 1, *started)
	p.closing.closed = true
	p.startDriver(at(9), &effects{})
	assert.Empty(t, p.driver.work)
}

func TestARecoveryIsStartedOnce(t *testing.T) {
	t.Parallel()
	p, started := idlePipe()
	p.state.recovery.add([]*Call{anyCall(expiringAt(at(5)), voted)})
	p.startRecovery(at(9), &effects{})
	assert.Zero(t, *started, "the keys have expired")
	p.state.recovery.add(releases(1))
	p.startRecovery(at(9), &effects{})
	p.startRecovery(at(9), &effects{})
	assert.Equal(t, 1, *started)
}

func TestARecoveryConnectionIsUsedUntilItEnds(t *testing.T) {
	t.Parallel()
	p, _ := idlePipe()
	l := &fakeLink{}
	p.recovery.running, p.recovery.link = true, l
	for _, err := range []error{nil, errBroken} {
		p.state.recovery.sent = releases(1)
		fx, left := p.settleRecovery(l, 1, []reply{{value: int64(1)}}, err, at(9))
		assert.Zero(t, left)
		assert.Equal(t, err != nil, p.recovery.link == nil)
		assert.Len(t, fx.close, map[bool]int{true: 1, false: 0}[err != nil])
	}
}

func TestAFailedProbeOfASuspectMasterBacksOff(t *testing.T) {
	t.Parallel()
	p, _ := idlePipe()
	p.state.health.fail(errBroken, at(9))
	fx := p.probed(nil, time.Time{}, nil, errBroken, at(10))
	assert.Equal(t, at(10).Add(2*retryMin), p.state.health.retryAt)
	assert.Equal(t, p.state.health.retryAt, fx.tickBy)
}

// A call may expire in the queue while the driver rests. That shows nothing of the master.
func TestAnIdleMasterIsNotJudged(t *testing.T) {
	t.Parallel()
	p, _ := idlePipe()
	p.judge([]delivery{{anyCall(), unsent(ErrTimeout)}}, at(10), &effects{})
	assert.Nil(t, p.state.health.suspect)
}

func TestAPipeRefusesACallForWhichARightIsMissing(t *testing.T) {
	t.Parallel()
	p, _ := idlePipe()
	require.NoError(t, p.refusal(anyCall()))
	require.NotNil(t, p.state.rights.handshake(scriptRight{err: errBroken}, at(8.5)))
	require.ErrorIs(t, p.refusal(anyCall()), errBroken)
	assert.NoError(t, p.refusal(anyCall(durable)))
}
