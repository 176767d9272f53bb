package kind_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	resp "github.com/alicebob/miniredis/v2/server"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// subject is a master whose clock the test sets, and the model of it.
type subject struct {
	redis *miniredis.Miniredis
	node  *wire.Node
	said  chan string
	epoch time.Time
	model *model
}

const theEnd = "end"

func newSubject(t *testing.T) *subject {
	t.Helper()
	s := &subject{
		redis: miniredis.NewMiniRedis(), said: make(chan string, 100), epoch: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC),
	}
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
	s.redis.FlushAll()
	s.redis.SetTime(s.epoch)
	s.redis.ClockTTL(true)
	s.model = &model{names: make(map[string]*record)}
}

// pass advances the clock by so many milliseconds.
func (s *subject) pass(ms int64) {
	s.model.now += ms
	s.redis.SetTime(s.epoch.Add(time.Duration(s.model.now) * time.Millisecond))
}

func (s *subject) ask(op *wire.Op) wire.Vote {
	now := time.Now()
	votes := make(ballot, 1)
	request := &wire.Request{Op: op, Asked: now, Deadline: now.Add(10 * time.Second)}
	s.node.Submit(&wire.Call{Request: request, Voter: votes})
	return <-votes
}

// messages returns how many messages were published since its last call.
func (s *subject) messages() (n int) {
	s.redis.Publish(kind.Channel(first), theEnd)
	for theEnd != <-s.said {
		n++
	}
	return n
}
