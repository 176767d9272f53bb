package node_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/node"
)

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
		{resp.Error("WRONGPASS invalid username-password pair"), true},
		{resp.Error("NOAUTH Authentication required."), true},
		{resp.Error("NOPERM this user has no permissions"), true},
		{resp.Error("CROSSSLOT Keys in request don't hash to the same slot"), true},
		{resp.Error("ERR The user executing the script can't run this command"), true},
		{resp.Error("ERR ACL failure in script: x"), true},
		{resp.Error("NOPERM ACL failure in script: User me has no permissions to run the 'get' command"), true},
		{resp.Error("ERR user_script:1: USEDUP the fencing tokens of a are used up"), true},
		{resp.Error("ERR unauthenticated"), true}, // of a proxy that wants a password: a text that go-redis knows

		{nil, false},
		{node.ErrTimeout, false},
		{errors.New("NOPERM in the text of another error"), false},
		{errors.New("CROSSSLOT in the text of another error"), false},
		{errors.New("ACL failure in script"), false},
		{errors.New("USEDUP the fencing tokens of a"), false},
		{resp.Error("OOM command not allowed"), false},
		{resp.Error("READONLY You can't write against a read only replica."), false},
		{resp.Error("LOADING Redis is loading the dataset in memory"), false},
		{resp.Error("BUSY Redis is busy running a script."), false},
		{resp.Error("MISCONF Redis is configured to save RDB snapshots"), false},
		{resp.Error("CLUSTERDOWN The cluster is down"), false},
		{resp.Error("MOVED 3999 127.0.0.1:6381"), false},
		{resp.Error("TRYAGAIN Multiple keys request during rehashing of slot"), false},
		{resp.Error("ERR syntax error"), false},
		{resp.Error("WRONGTYPE Operation against a key holding the wrong kind of value"), false},
		{resp.Error("ERR unknown"), false},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: internal error")}, false},
		{&net.OpError{Op: "read", Err: errors.New("certificate")}, false},
	} {
		assert.Equal(t, tt.permanent, node.Permanent(tt.err), "%v", tt.err)
		if tt.err != nil {
			assert.Equal(t, tt.permanent, node.Permanent(fmt.Errorf("wrapped: %w", tt.err)), "%v", tt.err)
		}
	}
}
