package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// A reply that is too large to keep harms its own call only.
func TestALargeReplyHarmsItsOwnCallOnly(t *testing.T) {
	const size = 5 << 20
	inEmptyBubbles(t, map[string]string{
		"a text":    fmt.Sprintf("$%d\r\n%s\r\n", size, strings.Repeat("a", size)),
		"a status":  "+" + strings.Repeat("a", size) + "\r\n",
		"an error":  "-ERR " + strings.Repeat("a", size) + "\r\n",
		"an array":  fmt.Sprintf("*%d\r\n", size/4) + strings.Repeat(":1\r\n", size/4),
		"two texts": fmt.Sprintf("*2\r\n$%[1]d\r\n%[2]s\r\n$%[1]d\r\n%[2]s\r\n", size, strings.Repeat("\r\n", size/2)),
	}, func(t *testing.T, large string) {
		srv := &testnet.Scripted{Answer: func(args []string) (string, bool) {
			if args[0] == "large" {
				return large, false
			}
			return "+OK\r\n", false
		}}
		r := newRig(t, nil, "redis://10.0.0.1", node.WithDialer(srv.Dial))
		for range 3 {
			before := r.ask(acquire("a", "a"))
			asked := r.ask(wire.Command("large", wire.ReadNumber, "large"))
			after := r.ask(acquire("b", "b"))
			assert.Equal(t, wire.Granted, before.result().Verdict)
			v := asked.result()
			assert.False(t, v.Verdict.Answered(), "%v", v)
			if !strings.HasPrefix(large, "-") {
				assert.Equal(t, wire.Unknown, v.Verdict, "it may have been executed")
				assert.ErrorContains(t, v.Err, "more than 1024 KiB")
			}
			assert.Equal(t, wire.Granted, after.result().Verdict)
		}
		assert.Equal(t, int64(1+comparing), srv.Dials.Load(), "the connection goes on")
	})
}
