package kind_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	resp "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// subject is a master and the model of it.
type subject struct {
	view
	node  *wire.Node
	model *model
	unit  time.Duration // all durations are multiples of it

	redis *miniredis.Miniredis // nil: it is a real server, whose clock the test does not set
	epoch time.Time
	said  chan string
}

// view is what the test sees of the master, besides votes.
type view interface {
	Exists(key string) bool
	TTL(key string) time.Duration
	Get(key string) (string, error)
	SortedSet(key string) (map[string]float64, error)
}

const theEnd = "end"

func newSubject(t *testing.T) *subject {
	t.Helper()
	s := &subject{
		redis: miniredis.NewMiniRedis(), said: make(chan string, 100), unit: time.Millisecond,
		epoch: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC),
	}
	s.view = s.redis
	t.Cleanup(s.redis.Close)
	dial := func(context.Context, string, string) (net.Conn, error) { return s.redis.Dial() }
	c, err := s.redis.Dial() // starts it
	require.NoError(t, err)
	require.NoError(t, c.Close())
	s.redis.Server().SetPreHook(func(p *resp.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" {
			p.WriteBulk("# Server\r\nrun_id:cafe\r\nuptime_in_seconds:1000000\r\n")
		}
		return cmd == "INFO"
	})
	s.redis.SetTime(s.epoch)
	s.redis.ClockTTL(true)

	var group errgroup.Group
	ear := s.redis.NewSubscriber()
	for _, name := range []string{first, second} {
		ear.Subscribe(kind.Channel(name))
	}
	over := make(chan struct{})
	group.Go(func() error {
		for {
			select {
			case msg := <-ear.Messages():
				select {
				case s.said <- msg.Message:
				case <-over: // the subscriber has ended
					return nil
				}
			case <-over:
				return nil
			}
		}
	})
	of, err := node.Open("redis://10.0.0.1:6379", node.WithDialer(dial))
	require.NoError(t, err)
	s.node = wire.New(of)
	require.NoError(t, s.node.Bind(group.Go, func(error) {}))
	t.Cleanup(func() {
		s.node.Close(time.Now().Add(time.Second))
		ear.Close()
		close(over)
		require.NoError(t, group.Wait())
	})
	return s
}

// begin empties the master and sets its clock back.
func (s *subject) begin() {
	s.messages()
	if s.redis == nil {
		s.view.(*realView).do(s.view.(*realView).t, "flushall")
		s.epoch = time.Now()
	} else {
		s.redis.FlushAll()
		s.redis.SetTime(s.epoch)
		s.redis.ClockTTL(true)
	}
	s.model = &model{names: make(map[string]*record)}
}

// pass advances the clock by so many milliseconds.
func (s *subject) pass(ms int64) {
	s.model.now += ms
	s.redis.SetTime(s.epoch.Add(time.Duration(s.model.now) * time.Millisecond))
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

func (s *subject) ask(op *wire.Op) wire.Vote {
	now := time.Now()
	votes := make(ballot, 1)
	request := &wire.Request{
		Op: op, Voter: votes, Asked: now, Connect: 20 * time.Second, Deadline: now.Add(40 * time.Second),
	}
	s.node.Submit(&wire.Call{Request: request})
	return <-votes
}

// messages returns how many messages were published since its last call.
func (s *subject) messages() (n int) {
	if s.redis == nil {
		return s.view.(*realView).messages()
	}
	s.redis.Publish(kind.Channel(first), theEnd)
	for theEnd != <-s.said {
		n++
	}
	return n
}

// realView is the view of a real server.
type realView struct {
	*server
	t   *testing.T
	ear *redis.PubSub
}

// realSubject is a subject on a real server. Its unit is so long that a busy machine adds less than half of it.
func realSubject(t *testing.T, s *server) *subject {
	t.Helper()
	v := &realView{server: s, t: t, ear: s.client.Subscribe(t.Context(), kind.Channel(first), kind.Channel(second))}
	t.Cleanup(func() { _ = v.ear.Close() })
	for range 2 {
		_, err := v.ear.Receive(t.Context())
		require.NoError(t, err)
	}
	return &subject{view: v, node: s.node, unit: time.Minute}
}

func (v *realView) Exists(key string) bool       { return v.do(v.t, "exists", key) == int64(1) }
func (v *realView) TTL(key string) time.Duration { return max(0, v.left(v.t, key)) }

func (v *realView) Get(key string) (string, error) { return v.client.Get(v.t.Context(), key).Result() }

func (v *realView) SortedSet(key string) (map[string]float64, error) {
	all, err := v.client.ZRangeWithScores(v.t.Context(), key, 0, -1).Result()
	scores := make(map[string]float64)
	for _, one := range all {
		scores[fmt.Sprint(one.Member)] = one.Score
	}
	return scores, err
}

func (v *realView) messages() (n int) {
	v.do(v.t, "publish", kind.Channel(first), theEnd)
	for ; ; n++ {
		msg, err := v.ear.ReceiveMessage(v.t.Context())
		require.NoError(v.t, err)
		if msg.Payload == theEnd {
			return n
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
