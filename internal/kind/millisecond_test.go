package kind_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

// A hold counts in its last millisecond, and not after it.
func TestTheLastMillisecondOfAHold(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for _, k := range kind.All {
		for _, fencing := range []bool{true, false} {
			mine := claim{
				Kind: k.Name, Names: []string{first}, Token: tokenOf("one", "1"), TTL: lockTTL, Fencing: fencing, Hint: hint,
				Slots: 1,
			}
			kept, other := mine, mine
			kept.Token = kind.KeptToken(mine.Token)
			if other.Token = tokenOf("other", "2"); k == kind.Reader {
				other.Kind = kind.Writer.Name
			}
			ops, theirs := mine.Ops(), other.Ops()
			type test struct {
				held claim
				op   *wire.Op
				own  bool // granted to the holder; otherwise to another one
			}
			tests := []test{
				{mine, ops.Extend(0), true},
				{mine, ops.Release(true), true},
				{mine, ops.Keep(time.Second), true},
				{kept, ops.Keep(time.Second), true},
				{mine, theirs.Acquire(), false},
				{mine, other.Probe(time.Second), false},
				{mine, inspectOp(first), false},
			}
			if fencing {
				tests = append(tests, test{mine, ops.Raise(hint), true})
			}
			for _, tt := range tests {
				for left := range int64(2) {
					s.begin()
					require.Equal(t, wire.Granted, s.ask(tt.held.Ops().Acquire()).Verdict)
					s.pass(lockTTL.Milliseconds() - left)
					v := s.ask(tt.op)
					require.NoError(t, v.Err)
					granted := v.Verdict == wire.Granted
					assert.Equal(t, tt.own == (left > 0), granted, "%s of a %s with %d ms left", tt.op.Name, k.Name, left)
				}
			}
		}
	}
}

// An intent counts in its last millisecond, and not after it.
func TestTheLastMillisecondOfAnIntent(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	reader := claim{Kind: "reader", Names: []string{first}, Token: tokenOf("one", "1"), TTL: lockTTL}
	fenced, writer := reader, reader
	fenced.Fencing, fenced.Hint = true, hint
	writer.Kind, writer.Intent = "writer", "waiter"
	for _, tt := range []struct {
		op  *wire.Op
		own bool
	}{
		{reader.Ops().Acquire(), false},
		{fenced.Ops().Acquire(), false},
		{reader.Probe(time.Second), false},
		{writer.Withdraw(), true},
	} {
		for left := range int64(2) {
			s.begin()
			s.ask(writer.Probe(time.Second))
			s.pass(1000 - left)
			v := s.ask(tt.op)
			require.NoError(t, v.Err)
			assert.Equal(t, tt.own == (left > 0), v.Verdict == wire.Granted, "%s with %d ms left", tt.op.Name, left)
		}
	}
}

// Keep keeps a name for the requested time, to the millisecond.
func TestANameIsKeptForAMillisecond(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for _, k := range allKinds() {
		c := claim{Kind: k, Names: []string{first}, Token: tokenOf("one", "1"), TTL: lockTTL, Slots: 1}
		for left := range int64(2) {
			s.begin()
			s.ask(c.Ops().Acquire())
			assert.Equal(t, wire.Granted, s.ask(c.Ops().Keep(2*time.Millisecond)).Verdict)
			s.pass(2 - left)
			assert.Equal(t, left == 0, s.ask(inspectOp(first)).Verdict == wire.Granted, "a %s with %d ms left", k, left)
		}
	}
}

// The release of the last hold is published, even in the millisecond in which another one expires.
func TestAReleaseIsPublishedWhenTheOtherHoldExpires(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for k, partner := range sharedKinds() {
		c := claim{Kind: k, Names: []string{first}, Token: holdToken, TTL: lockTTL}
		other := c
		other.Token, other.TTL = partner, time.Second
		for left := range int64(2) {
			s.begin()
			s.ask(c.Ops().Acquire())
			s.ask(other.Ops().Acquire())
			s.pass(1000 - left)
			assert.Equal(t, wire.Granted, s.ask(c.Ops().Release(true)).Verdict)
			assert.Equal(t, left == 0, s.messages() == 1, "%s, %d ms", k, left)
		}
	}
}

func TestAProbeReportsTheFirstOfEqualHolds(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	s.begin()
	c := claim{Kind: "mutex", Names: []string{first, second}, Token: lockToken, TTL: lockTTL}
	s.ask(c.Ops().Acquire())
	b, ok := kind.BlockerOf(s.ask(c.Probe(time.Second)))
	assert.True(t, ok)
	assert.Zero(t, b.Name)
}

// A hold of any kind but the mutex may end up to a millisecond early by the master's clock, because its entry expires
// at a whole millisecond. The drift budget covers that.
func TestAHoldWithEntriesEndsUpToAMillisecondEarly(t *testing.T) {
	t.Parallel()
	s := newSubject(t)
	for _, k := range kind.All {
		mine := claim{Kind: k.Name, Names: []string{first}, Token: tokenOf("one", "1"), TTL: lockTTL, Slots: 1}
		other := mine
		if other.Token = tokenOf("other", "2"); k == kind.Reader {
			other.Kind = kind.Writer.Name
		}
		begun := 999 * time.Microsecond // after the beginning of a millisecond
		for early, taken := range map[time.Duration]bool{
			1001 * time.Microsecond: false, 1000 * time.Microsecond: false,
			999 * time.Microsecond: k != kind.Mutex, time.Microsecond: k != kind.Mutex,
		} {
			s.begin()
			s.redis.SetTime(s.epoch.Add(begun))
			require.Equal(t, wire.Granted, s.ask(mine.Ops().Acquire()).Verdict)
			s.redis.SetTime(s.epoch.Add(begun + lockTTL - early))
			v := s.ask(other.Ops().Acquire())
			require.NoError(t, v.Err)
			assert.Equal(t, taken, v.Verdict == wire.Granted, "a %s, %v before its TTL ends", k.Name, early)
		}
	}
}
