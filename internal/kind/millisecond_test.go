package kind_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
)

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
