package delay_test

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/redlock-go/redlock/bench/internal/delay"
	"github.com/redlock-go/redlock/internal/testnet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends back what it gets.
func echo(t *testing.T) string {
	t.Helper()
	return testnet.Serve(t, func(c net.Conn) { _, _ = io.Copy(c, c) })
}

func dial(t *testing.T, link delay.Link) (*delay.Proxy, net.Conn) {
	t.Helper()
	p, err := delay.New(echo(t), link)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return p, c
}

func roundTrip(t *testing.T, c net.Conn) time.Duration {
	t.Helper()
	begun := time.Now()
	_, err := c.Write([]byte("ping"))
	require.NoError(t, err)
	_, err = io.ReadFull(c, make([]byte, 4))
	require.NoError(t, err)
	return time.Since(begun)
}

// None may be too short; a busy machine makes some too long.
func TestARoundTripTakesTheLinksTime(t *testing.T) {
	t.Parallel()
	const rtt = 40 * time.Millisecond
	p, c := dial(t, delay.Link{RTT: rtt})
	takes := func(least, below time.Duration) {
		t.Helper()
		for range 100 {
			took := roundTrip(t, c)
			require.GreaterOrEqual(t, took, least)
			if took < below {
				return
			}
		}
		t.Errorf("each of a hundred took %v or more", below)
	}
	takes(rtt, 3*rtt/2)
	p.Set(delay.Link{RTT: 3 * rtt})
	takes(3*rtt, 4*rtt) // changed while it is in use
	p.Set(delay.Link{})
	takes(0, rtt)
}

func TestALostSegmentComesLater(t *testing.T) {
	t.Parallel()
	_, c := dial(t, delay.Link{Loss: 1, Resend: 50 * time.Millisecond})
	assert.GreaterOrEqual(t, roundTrip(t, c), 100*time.Millisecond, "in both directions")
}

// Every byte arrives, in order, although each segment has a delay of its own.
func TestBytesKeepTheirOrderUnderJitterAndLoss(t *testing.T) {
	t.Parallel()
	_, c := dial(t, delay.Link{
		RTT: 2 * time.Millisecond, Jitter: 5, Loss: 0.2, Resend: 3 * time.Millisecond,
	})
	sent := make([]byte, 300<<10)
	for i := range sent {
		sent[i] = byte(rand.IntN(256))
	}
	go func() {
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+rand.IntN(3000))
			if _, err := c.Write(rest[:n]); err != nil {
				return
			}
			rest = rest[n:]
		}
	}()
	got := make([]byte, len(sent))
	_, err := io.ReadFull(c, got)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(sent, got))
}

func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	p, c := dial(t, delay.Link{RTT: time.Second})
	require.NoError(t, p.Close())
	require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
	_, err := c.Read(make([]byte, 1))
	assert.Error(t, err)
	require.NoError(t, p.Close(), "twice")
}

func TestAServerThatIsNotThereIsAClosedConnection(t *testing.T) {
	t.Parallel()
	p, err := delay.New("127.0.0.1:1", delay.Link{})
	require.NoError(t, err)
	defer p.Close()
	c, err := net.Dial("tcp", p.Addr())
	require.NoError(t, err)
	defer c.Close()
	_, err = c.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF)
}
