package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/node"
)

// netError is an error of a connection.
type netError bool

func (netError) Error() string   { return "a connection" }
func (e netError) Timeout() bool { return bool(e) }
func (netError) Temporary() bool { return false }

func TestWhichErrorsOnlyAnOperatorCanFix(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err       error
		permanent bool
	}{
		{node.ErrNotRedis, true},
		{&node.IdentityError{Err: node.ErrTimeout}, true},
		{&node.RightError{Err: node.ErrTimeout}, true},
		{&tls.CertificateVerificationError{Err: node.ErrTimeout}, true},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")}, true},
		{replyError("WRONGPASS invalid username-password pair"), true},
		{replyError("NOAUTH Authentication required."), true},
		{replyError("NOPERM this user has no permissions"), true},
		{replyError("CROSSSLOT Keys in request don't hash to the same slot"), true},
		{replyError("ERR The user executing the script can't run this command"), true},
		{replyError("ERR ACL failure in script: x"), true},
		{replyError("ERR user_script:1: USEDUP the fencing tokens of a are used up"), true},

		{nil, false},
		{node.ErrTimeout, false},
		{errors.New("NOPERM in the text of another error"), false},
		{errors.New("CROSSSLOT in the text of another error"), false},
		{errors.New("ACL failure in script"), false},
		{errors.New("USEDUP the fencing tokens of a"), false},
		{replyError("OOM command not allowed"), false},
		{replyError("ERR unknown"), false},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: internal error")}, false},
		{&net.OpError{Op: "read", Err: errors.New("certificate")}, false},
	} {
		assert.Equal(t, tt.permanent, node.Permanent(tt.err), "%v", tt.err)
		if tt.err != nil {
			assert.Equal(t, tt.permanent, node.Permanent(fmt.Errorf("wrapped: %w", tt.err)), "%v", tt.err)
		}
	}
}

// A text that go-redis knows.
func TestAProxyThatWantsAPassword(t *testing.T) {
	t.Parallel()
	assert.True(t, node.Permanent(replyError("ERR unauthenticated")))
}

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

func TestWhichCommandsAreMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err                error
		forbidden, unknown bool
	}{
		{nil, false, false},
		{errors.New("NOPERM in the text of another error"), false, false},
		{replyError("OOM command not allowed"), false, false},
		{replyError("ERR unknown user"), false, false},
		{replyError("NOPERM this user has no permissions to run the 'info' command"), true, false},
		{replyError("NOPERM this user has no permissions to access one of the keys"), true, false},
		{replyError("ERR ACL failure in script: User x has no permissions"), true, false},
		{replyError("ERR The user executing the script can't run this command or subcommand"), true, false},
		{replyError("ERR unknown command 'evalsha', with args beginning with: "), false, true},
	} {
		forbidden, unknown := MissingCommand(tt.err)
		assert.Equal(t, tt.forbidden, forbidden, "%v", tt.err)
		assert.Equal(t, tt.unknown, unknown, "%v", tt.err)
	}
}
