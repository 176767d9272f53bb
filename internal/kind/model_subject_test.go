package kind_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	resp "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// subject is a master and the model of it.
type subject struct {
	*server
	t     *testing.T
	model *model
	said  <-chan *redis.Message
	unit  time.Duration // all durations are multiples of it

	redis *miniredis.Miniredis // nil: it is a real server
	epoch time.Time
}

const theEnd = "end"

// newSubject returns a subject whose clock only the test moves.
func newSubject(t *testing.T) *subject {
	t.Helper()
	master := miniredis.NewMiniRedis()
	t.Cleanup(master.Close)
	c, err := master.Dial() // starts it
	require.NoError(t, err)
	require.NoError(t, c.Close())
	master.Server().SetPreHook(func(p *resp.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" {
			p.WriteBulk("# Server\r\nrun_id:cafe\r\nuptime_in_seconds:1000000\r\n")
		}
		return cmd == "INFO"
	})
	const addr = "10.0.0.1:6379"
	dial := func(context.Context, string, string) (net.Conn, error) { return master.Dial() }
	s := subjectOn(t, open(t, "redis://"+addr, &redis.Options{Addr: addr, Dialer: dial}, node.WithDialer(dial)))
	s.redis, s.unit, s.epoch = master, time.Millisecond, time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)
	s.begin()
	return s
}

// subjectOn returns a subject on a real server. Its unit is so long that a busy machine adds less than half of it.
func subjectOn(t *testing.T, s *server) *subject {
	t.Helper()
	ear := s.client.Subscribe(t.Context(), kind.Channel(first), kind.Channel(second))
	t.Cleanup(func() { assert.NoError(t, ear.Close()) })
	for range 2 {
		_, err := ear.Receive(t.Context())
		require.NoError(t, err)
	}
	said := ear.Channel(redis.WithChannelHealthCheckInterval(0))
	return &subject{server: s, t: t, said: said, unit: time.Minute}
}

// begin empties the master and sets its clock back.
func (s *subject) begin() {
	s.messages()
	s.do(s.t, "flushall")
	if s.redis == nil {
		s.epoch = time.Now()
	} else {
		s.redis.SetTime(s.epoch)
		s.redis.ClockTTL(true)
	}
	s.model = &model{names: make(map[string]*record)}
}

// sooner is a script that makes its keys, and the entries of sorted sets, expire so many milliseconds sooner.
const sooner = `
for _, key in ipairs(KEYS) do
	local entries = redis.call('TYPE', key)['ok'] == 'zset' and redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') or {}
	for i = 1, #entries, 2 do
		redis.call('ZADD', key, entries[i + 1] - ARGV[1], entries[i])
	end
	redis.call('PEXPIRE', key, redis.call('PTTL', key) - ARGV[1])
end`

// pass advances the clock by so many milliseconds. The clock of a real server stays, and everything expires sooner.
func (s *subject) pass(ms int64) {
	s.model.now += ms
	if s.redis != nil {
		s.redis.SetTime(s.epoch.Add(time.Duration(s.model.now) * time.Millisecond))
		return
	}
	var keys []string
	for _, name := range []string{first, second} {
		keys = append(keys, name, kind.FenceKey(name), kind.IntentKey(name))
	}
	err := s.client.Eval(s.t.Context(), sooner, keys, ms).Err()
	require.ErrorIs(s.t, err, redis.Nil)
	s.epoch = s.epoch.Add(-time.Duration(ms) * time.Millisecond)
}

// tick has the next operation on a real server be a millisecond later than the one before.
func (s *subject) tick() {
	if s.redis == nil {
		time.Sleep(1100 * time.Microsecond)
		s.model.now++
	}
}

// round removes what time itself adds: on a real server the test takes a while that the model does not know.
func (s *subject) round(d time.Duration) time.Duration { return d.Round(s.unit) }

func (s *subject) ask(op *wire.Op) wire.Vote { return s.server.ask(s.t, op) }

// messages returns how many messages were published since its last call.
func (s *subject) messages() (n int) {
	s.do(s.t, "publish", kind.Channel(first), theEnd)
	for msg := range s.said {
		if msg.Payload == theEnd {
			break
		}
		n++
	}
	return n
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
