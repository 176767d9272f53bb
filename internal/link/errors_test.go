package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

var errBroken = errors.New("broken")

func TestErrorsOfConnecting(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	late, end := context.WithCancelCause(ctx)
	end(context.DeadlineExceeded)
	closed, end := context.WithCancelCause(ctx)
	end(nil)
	noCredentials := &credentialsError{errBroken}
	assert.Equal(t, noCredentials, connectError(ctx, fmt.Errorf("dial: %w", noCredentials)))
	assert.ErrorIs(t, noCredentials, errBroken)
	assert.EqualError(t, connectError(late, noCredentials), "no credentials: "+node.ErrTimeout.Error())
	assert.ErrorIs(t, connectError(ctx, errors.New("redis: can't parse reply")), node.ErrNotRedis)
	assert.ErrorIs(t, connectError(ctx, errors.New("redis: invalid reply")), node.ErrNotRedis)
	assert.EqualError(t, connectError(late, errBroken), "connecting: "+node.ErrTimeout.Error())
	assert.EqualError(t, connectError(ctx, context.DeadlineExceeded), "connecting: "+node.ErrTimeout.Error())
	assert.ErrorIs(t, connectError(late, &handshakeTLSError{errBroken}), node.ErrTimeout)
	assert.ErrorContains(t, connectError(late, &handshakeTLSError{errBroken}), "needs a port with TLS")
	assert.Equal(t, node.ErrClosed, connectError(closed, errBroken))
	assert.EqualError(t, connectError(ctx, errBroken), "connecting: broken")
}

// netError is an error of a connection.
type netError bool

func (netError) Error() string { return "a connection" }

func (e netError) Timeout() bool { return bool(e) }

func (netError) Temporary() bool { return false }

func TestWhichErrorsAreTimeouts(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		context.DeadlineExceeded: true, os.ErrDeadlineExceeded: true, netError(true): true,
		netError(false): false, context.Canceled: false, net.ErrClosed: false,
	} {
		assert.Equal(t, want, timedOut(fmt.Errorf("wrapped: %w", err)), "%v", err)
	}
	for _, err := range []error{context.DeadlineExceeded, os.ErrDeadlineExceeded} {
		assert.True(t, timedOut(&net.OpError{Op: "dial", Err: fmt.Errorf("a tunnel: %w", err)}))
	}
}

func TestAConnectionThatEndedIsNamed(t *testing.T) {
	t.Parallel()
	for _, err := range []error{io.EOF, io.ErrUnexpectedEOF} {
		got := cutOff(err)
		assert.ErrorContains(t, got, "the master ended the connection")
		assert.ErrorIs(t, got, err)
	}
	assert.Equal(t, net.ErrClosed, cutOff(net.ErrClosed))
	assert.NoError(t, cutOff(nil))
}

// A master that accepts a connection and ends it hangs up. One that refuses connections, or is silent, does not.
func TestWhichErrorsAreOfAServerThatHangsUp(t *testing.T) {
	t.Parallel()
	dial := &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"refuses connections":        {fmt.Errorf("connecting: %w", dial), false},
		"is silent":                  {fmt.Errorf("connecting: %w", node.ErrTimeout), false},
		"refuses with a reply":       {resp.Error("ERR max number of clients reached"), false},
		"ends without an answer":     {fmt.Errorf("connecting: %w", errNoAnswer), true},
		"ends within the handshake":  {fmt.Errorf("connecting: %w", cutOff(io.EOF)), true},
		"resets the connection":      {&net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		"is silent on a read":        {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false},
		"ends within a reply":        {cutOff(io.ErrUnexpectedEOF), true},
		"is not there for the write": {&net.OpError{Op: "write", Err: syscall.EPIPE}, true},
	} {
		assert.Equal(t, c.want, HungUp(c.err), name)
	}
}
