package stacktest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock"
	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/node"
)

// liar is a master that answers every command that is not of the handshake with the same bytes.
func liar(answer string) *testnet.Scripted {
	return &testnet.Scripted{RunID: "liar", Answer: func(args []string) (string, bool) {
		switch strings.ToLower(args[0]) {
		case "client", "subscribe", "ping":
			return "-ERR unknown command\r\n", false
		}
		return answer, false
	}}
}

// A malformed reply of one master grants nothing, and does no harm if a majority of the others reply well.
func TestOneMasterThatRepliesNonsense(t *testing.T) {
	t.Parallel()
	for i, nonsense := range []string{
		":0\r\n", ":-5\r\n", ":9223372036854775807\r\n", ":-9223372036854775808\r\n", "+OK\r\n", "+\r\n", "$-1\r\n",
		"$0\r\n\r\n", "*-1\r\n", "*0\r\n",
		"*1\r\n:0\r\n", "*2\r\n$9\r\nreentrant\r\n:1\r\n", "*2\r\n:1\r\n:0\r\n", "*3\r\n:0\r\n:0\r\n:0\r\n",
		"*4\r\n:0\r\n$5\r\nmutex\r\n:900\r\n:77\r\n",
		"*4\r\n:0\r\n$5\r\nmutex\r\n:-9\r\n:1\r\n",
		"*4\r\n:0\r\n$5\r\nmutex\r\n:9223372036854775807\r\n:9223372036854775807\r\n",
		"*5\r\n:0\r\n$5\r\nmutex\r\n:900\r\n:1\r\n:1\r\n", "*3\r\n$6\r\nreader\r\n:1\r\n$1\r\na\r\n",
		"*6\r\n$6\r\nreader\r\n:1\r\n$1\r\na\r\n:1\r\n$1\r\na\r\n:1\r\n", "-ERR\r\n",
		"-" + strings.Repeat("x", 17000) + "\r\n", "nonsense\r\n",
		"*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "$2000000\r\n", "$2000000\r\n" + strings.Repeat("x", 2e6) + "\r\n",
	} {
		bubble(t, 3, func(t *testing.T, w *world) {
			masters := w.nodes(t, "a")
			n, err := node.Open("redis://10.9.9.9", node.WithDialer(liar(nonsense).Dial))
			require.NoError(t, err)
			masters[i%3] = n // the first to be asked is one of them
			l := w.over(t, "a", masters)
			for _, opts := range [][]redlock.LockOption{nil, {redlock.WithFencing()}} {
				lk, err := l.TryLock(t.Context(), "x", opts...)
				require.NoError(t, err, nonsense)
				h, err := l.Inspect(t.Context(), "x")
				require.NoError(t, err)
				require.Len(t, h.Holders, 1)
				assert.Equal(t, 2, h.Holders[0].Votes)
				unlock(t, lk)
			}
			w.foreign("x", time.Minute)
			_, err = l.TryLock(t.Context(), "x")
			require.Error(t, err, nonsense)
			_, err = l.RW("x").TryRLock(t.Context())
			require.Error(t, err, nonsense)
			_, err = l.TryLockAll(t.Context(), []string{"x", "y"})
			require.Error(t, err, nonsense)
			_, err = l.Reentrant("x", "me").TryLock(t.Context())
			require.Error(t, err, nonsense)
			for _, wait := range []call{byMutex, byWriter, queued["several"].wait} {
				_, err := wait(within(t, time.Second), l, 0)
				require.ErrorIs(t, err, context.DeadlineExceeded, nonsense)
			}
			w.foreign("x", time.Millisecond)
			lk, err := l.Lock(within(t, time.Minute), "x")
			require.NoError(t, err)
			unlock(t, lk)
		})
	}
}
