package embedded_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/embedded"
)

// shortly is long enough for a healthy master to answer many times over.
const shortly = 150 * time.Millisecond

// command is what a client sends for args.
func command(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

// send writes a command to a new connection of m and hangs up without waiting for the answer.
func send(t *testing.T, m *embedded.Master, args ...string) {
	t.Helper()
	c, err := net.Dial("tcp", m.Addr())
	require.NoError(t, err)
	_, err = c.Write([]byte(command(args...)))
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// INFO touches no data, so a freeze of the data alone would answer it.
func TestInfoAskedOfAFrozenMasterIsOfTheTimeAfterTheThaw(t *testing.T) {
	t.Parallel()
	m := open(t)
	c, err := net.Dial("tcp", m.Addr())
	require.NoError(t, err)
	defer c.Close()
	ask := func(wait time.Duration, cmd ...string) (string, error) {
		_, err := c.Write([]byte(command(cmd...)))
		require.NoError(t, err)
		require.NoError(t, c.SetReadDeadline(time.Now().Add(wait)))
		answer := make([]byte, 4096)
		n, err := c.Read(answer)
		return string(answer[:n]), err
	}
	_, err = ask(patience, "PING")
	require.NoError(t, err, "the master waits for more on this connection")

	m.Freeze()
	_, err = ask(shortly, "INFO", "server")
	require.ErrorContains(t, err, "timeout")
	thawed := time.Now()
	m.Thaw()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	answer := make([]byte, 4096)
	n, err := c.Read(answer)
	require.NoError(t, err, "the late answer comes")

	_, rest, found := strings.Cut(string(answer[:n]), "server_time_usec:")
	require.True(t, found)
	var executed int64
	_, err = fmt.Sscan(rest, &executed)
	require.NoError(t, err)
	assert.GreaterOrEqual(t, executed, thawed.UnixMicro())
}

func TestWhatWasSentToAFrozenMasterIsExecutedAsItThaws(t *testing.T) {
	t.Parallel()
	m := open(t)
	c := connect(t, m)
	ctx := within(t, patience)
	require.NoError(t, c.Set(ctx, "ends meanwhile", "x", shortly).Err())
	m.Freeze()
	send(t, m, "SET", "ghost", "x", "NX", "PX", "60000")
	time.Sleep(2 * shortly) // the time that passes is what is tested

	thawed := time.Now()
	m.Thaw()

	require.Eventually(t, func() bool { return c.Exists(ctx, "ghost").Val() == 1 }, patience, time.Millisecond,
		"although its sender has left")
	left := c.PTTL(ctx, "ghost").Val()
	assert.GreaterOrEqual(t, left+time.Millisecond, time.Minute-time.Since(thawed), "its TTL begins when it is executed")
	assert.Zero(t, c.Exists(ctx, "ends meanwhile").Val(), "the clock does not freeze")
}

// Every answer carries the time at which its command was executed: none may fall into the freeze.
func TestNothingIsExecutedDuringAFreeze(t *testing.T) {
	t.Parallel()
	m := open(t)
	var mu sync.Mutex
	var executed []time.Time
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	for range 8 {
		c := connect(t, m)
		clients.Go(func() {
			for ctx.Err() == nil {
				var times []*redis.TimeCmd
				_, err := c.Pipelined(context.WithoutCancel(ctx), func(p redis.Pipeliner) error {
					for range 10 {
						times = append(times, p.Time(ctx))
					}
					return nil
				})
				if !assert.NoError(t, err) {
					return
				}
				mu.Lock()
				for _, at := range times {
					executed = append(executed, at.Val())
				}
				mu.Unlock()
			}
		})
	}
	busy := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(executed) > 100
	}
	require.Eventually(t, busy, patience, time.Millisecond)
	type span struct{ from, to time.Time }
	var freezes []span
	for range 10 {
		time.Sleep(5 * time.Millisecond)
		m.Freeze()
		from := time.Now()
		time.Sleep(10 * time.Millisecond)
		freezes = append(freezes, span{from, time.Now()})
		m.Thaw()
	}
	cancel()
	clients.Wait()

	var before, after int
	for _, at := range executed {
		for i, f := range freezes {
			// TIME is in whole microseconds.
			assert.False(
				t, at.After(f.from) && at.Before(f.to.Add(-time.Microsecond)), "%v into freeze %d", at.Sub(f.from), i,
			)
		}
		if at.Before(freezes[0].from) {
			before++
		}
		if at.After(freezes[9].to) {
			after++
		}
	}
	assert.Positive(t, before)
	assert.Positive(t, after)
}

func TestAMessageToASubscriberWaitsForTheThaw(t *testing.T) {
	t.Parallel()
	m := open(t)
	c := connect(t, m)
	sub := c.Subscribe(t.Context(), "news")
	defer sub.Close()
	_, err := sub.ReceiveTimeout(t.Context(), patience)
	require.NoError(t, err)

	m.Freeze()
	send(t, m, "PUBLISH", "news", "late")
	_, err = sub.ReceiveTimeout(t.Context(), shortly)
	require.Error(t, err)

	m.Thaw()
	got, err := sub.ReceiveTimeout(t.Context(), patience)
	require.NoError(t, err)
	assert.Equal(t, "late", got.(*redis.Message).Payload)
}

func TestAFrozenMasterThatIsStoppedExecutesNothing(t *testing.T) {
	t.Parallel()
	m := open(t)
	m.Freeze()
	send(t, m, "SET", "ghost", "x")
	m.Stop()
	require.NoError(t, m.Start())

	c := connect(t, m)
	require.True(t, answers(t, c, patience), "it does not start frozen")
	assert.Zero(t, c.DBSize(within(t, patience)).Val())
}

func TestAFrozenMasterIsWipedBeforeItExecutesWhatCameSince(t *testing.T) {
	t.Parallel()
	m := open(t)
	c := connect(t, m)
	ctx := within(t, patience)
	require.NoError(t, c.Set(ctx, "old", "x", 0).Err())
	m.Freeze()
	send(t, m, "SET", "new", "x")
	m.Wipe()
	m.Thaw()

	require.Eventually(t, func() bool { return c.Exists(ctx, "new").Val() == 1 }, patience, time.Millisecond)
	assert.Zero(t, c.Exists(ctx, "old").Val())
}

func TestCloseEndsAFrozenMasterAndItsClients(t *testing.T) {
	t.Parallel()
	m := open(t)
	c := connect(t, m)
	require.True(t, answers(t, c, patience))
	m.Freeze()
	asked := make(chan error, 1)
	go func() { asked <- c.Ping(context.Background()).Err() }()
	time.Sleep(10 * time.Millisecond) // either order must end

	m.Close()

	select {
	case err := <-asked:
		require.Error(t, err)
	case <-time.After(patience):
		t.Fatal("the client still waits")
	}
}
