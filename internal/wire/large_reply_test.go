package wire_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// A reply that is too large to keep harms its own call only.
func TestALargeReplyHarmsItsOwnCallOnly(t *testing.T) {
	t.Parallel()
	const size = 5 << 20
	for name, large := range map[string]string{
		"a text":    fmt.Sprintf("$%d\r\n%s\r\n", size, strings.Repeat("a", size)),
		"a status":  "+" + strings.Repeat("a", size) + "\r\n",
		"an error":  "-ERR " + strings.Repeat("a", size) + "\r\n",
		"an array":  fmt.Sprintf("*%d\r\n", size/4) + strings.Repeat(":1\r\n", size/4),
		"two texts": fmt.Sprintf("*2\r\n$%[1]d\r\n%[2]s\r\n$%[1]d\r\n%[2]s\r\n", size, strings.Repeat("\r\n", size/2)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := &testnet.Scripted{Answer: func(args []string) (string, bool) {
					if args[0] == "large" {
						return large, false
					}
					return "+OK\r\n", false
				}}
				n, err := open("redis://10.0.0.1", node.WithDialer(srv.Dial))
				require.NoError(t, err)
				r := bind(t, nil, n)
				for range 3 {
					before := r.ask(acquire("a", "a"))
					asked := r.ask(wire.Command("large", wire.ReadNumber, "large"))
					after := r.ask(acquire("b", "b"))
					assert.Equal(t, wire.Granted, before.result().Verdict)
					v := asked.result()
					assert.False(t, v.Verdict.Answered(), "%v", v)
					if name != "an error" {
						assert.Equal(t, wire.Unknown, v.Verdict, "it may have been executed")
						assert.ErrorContains(t, v.Err, "more than 1024 KiB")
					}
					assert.Equal(t, wire.Granted, after.result().Verdict)
				}
				assert.Equal(t, int64(1+comparing), srv.Dials.Load(), "the connection goes on")
			})
		})
	}
}
