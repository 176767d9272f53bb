package doctor

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/resp"
)

func TestWhichCommandsAreMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err                error
		forbidden, unknown bool
	}{
		{nil, false, false},
		{errors.New("NOPERM in the text of another error"), false, false},
		{resp.Error("OOM command not allowed"), false, false},
		{resp.Error("ERR unknown user"), false, false},
		{resp.Error("NOPERM this user has no permissions to run the 'info' command"), true, false},
		{resp.Error("NOPERM this user has no permissions to access one of the keys"), true, false},
		{resp.Error("ERR ACL failure in script: User x has no permissions"), true, false},
		{resp.Error("ERR The user executing the script can't run this command or subcommand"), true, false},
		{resp.Error("ERR unknown command 'evalsha', with args beginning with: "), false, true},
	} {
		forbidden, unknown := missingCommand(tt.err)
		assert.Equal(t, tt.forbidden, forbidden, "%v", tt.err)
		assert.Equal(t, tt.unknown, unknown, "%v", tt.err)
	}
}
