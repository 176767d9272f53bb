package embedded_test

import (
	"net"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/embedded"
)

func TestWhatCannotWorkIsAnError(t *testing.T) {
	t.Parallel()
	m := open(t)

	_, err := embedded.Open(m.Addr())
	require.ErrorContains(t, err, m.Addr())
	_, err = embedded.OpenAll(0)
	require.ErrorContains(t, err, "0 masters")
	_, err = embedded.OpenAt("", m.Addr())
	require.ErrorContains(t, err, m.Addr())

	m.Close()
	require.ErrorIs(t, m.Start(), embedded.ErrClosed)
	for _, change := range []func(){m.Stop, m.Freeze, m.Thaw, m.Wipe, m.Close} {
		change() // no master, nothing to do
	}
}

func TestAPortTakenMeanwhileIsAnErrorAndNotTheEnd(t *testing.T) {
	t.Parallel()
	m := open(t)
	m.Stop()
	squatter, err := net.Listen("tcp", m.Addr())
	require.NoError(t, err)

	require.ErrorContains(t, m.Start(), m.Addr())
	require.NoError(t, squatter.Close())
	require.NoError(t, m.Start())
	assert.True(t, answers(t, connect(t, m), patience))
}

// With -race this is also the test of the locks.
func TestEverythingAtOnceEnds(t *testing.T) {
	t.Parallel()
	m := open(t)
	var storm, traffic sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		traffic.Go(func() {
			c := connect(t, m)
			sub := c.Subscribe(t.Context(), "news")
			defer sub.Close()
			for {
				select {
				case <-done:
					return
				default:
				}
				ctx := within(t, 20*time.Millisecond)
				_ = c.SetNX(ctx, "name", "x", time.Millisecond).Err()
				_ = c.Eval(ctx, `redis.call("PUBLISH", "news", "x") return redis.call("INCR", "n")`, nil).Err()
				_ = c.Info(ctx, "server").Err()
			}
		})
	}
	for range 3 {
		for _, change := range []func(){m.Stop, m.Freeze, m.Thaw, m.Wipe, func() { _ = m.Start() }} {
			storm.Go(func() {
				for range 20 {
					change()
					time.Sleep(2 * time.Millisecond)
				}
			})
		}
	}
	storm.Wait()
	close(done)
	m.Freeze() // closed as it is in the worst case
	traffic.Wait()
	m.Close()
	_, err := net.Dial("tcp", m.Addr())
	assert.ErrorIs(t, err, syscall.ECONNREFUSED)
}

func TestAStoppedMasterKeepsItsPortReserved(t *testing.T) {
	t.Parallel()
	m, err := embedded.Open("")
	require.NoError(t, err)
	t.Cleanup(m.Close)
	m.Stop()
	_, err = net.Dial("tcp", m.Addr())
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	_, err = net.ListenPacket("udp", m.Addr()) // the lock of package freeport
	require.ErrorIs(t, err, syscall.EADDRINUSE)
	m.Close()
	lock, err := net.ListenPacket("udp", m.Addr())
	require.NoError(t, err)
	require.NoError(t, lock.Close())
}
