package wire_test

import (
	"bufio"
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/wire"
)

// addReplies adds encoded replies.
func addReplies(f *testing.F) {
	f.Helper()
	for _, reply := range []string{
		":1\r\n", ":0\r\n", ":-1\r\n", ":-2\r\n",
		":9007199254740991\r\n", ":9007199254740992\r\n", ":-9223372036854775808\r\n",
		"+OK\r\n", "+ok\r\n", "$2\r\nOK\r\n", "$-1\r\n", "*-1\r\n", "*1\r\n:1\r\n", "-ERR no\r\n",
		"$11\r\nrole:master\r\n", "$34\r\nrole:slave\r\nuptime_in_seconds:-1\r\n\r\n",
	} {
		f.Add([]byte(reply))
	}
}

// assertVote checks what holds for every vote on a reply: only Unknown has an error, and the verdict is never Failed.
func assertVote(t *testing.T, v wire.Vote) {
	t.Helper()
	assert.NotEqual(t, wire.Failed, v.Verdict)
	assert.Equal(t, v.Verdict == wire.Unknown, v.Err != nil)
	assert.False(t, v.Unsent)
	if v.Err != nil {
		assert.Less(t, len(v.Err.Error()), 1024)
	}
}

// fuzzReplies fuzzes a reader of replies.
func fuzzReplies(f *testing.F, check func(t *testing.T, reply any)) {
	f.Helper()
	addReplies(f)
	f.Fuzz(func(t *testing.T, sent []byte) {
		if reply, _, err := resp.Read(bufio.NewReader(bytes.NewReader(sent)), resp.MaxReply); err == nil {
			check(t, reply)
		}
	})
}

func FuzzReadNumber(f *testing.F) {
	fuzzReplies(f, func(t *testing.T, reply any) {
		t.Helper()
		v := wire.ReadNumber(reply)
		assertVote(t, v)
		n, ok := reply.(int64)
		exact := ok && n < 1<<53 && n > -1<<53
		assert.Equal(t, exact, v.Verdict.Answered())
		assert.Equal(t, exact && n > 0, v.Verdict == wire.Granted)
		assert.Equal(t, exact && n == -1, v.Healed)
		assert.Equal(t, exact && n < -1, v.Wait > 0)
		if v.Verdict == wire.Granted {
			assert.Equal(t, n, v.Number)
		}
	})
}

func FuzzReadSet(f *testing.F) {
	fuzzReplies(f, func(t *testing.T, reply any) {
		t.Helper()
		v := wire.ReadSet(reply)
		assertVote(t, v)
		assert.Equal(t, reply == any("OK"), v.Verdict == wire.Granted)
		assert.Equal(t, reply == nil, v.Verdict == wire.Denied)
	})
}

func FuzzReadStatus(f *testing.F) {
	f.Add("role:master\r\nuptime_in_seconds:9223372036854775807\r\nloading:1\r\n")
	f.Add("role:master\r\nuptime_in_seconds:99999999999999999999\r\n") // more than an int64 holds
	f.Add("role:\r\n")
	f.Add("uptime_in_seconds:x:y\nrole:slave\nredis_version:7\nvalkey_version:8")
	f.Fuzz(func(t *testing.T, info string) {
		v := wire.ReadStatus(info)
		assertVote(t, v)
		if v.Verdict == wire.Granted {
			status := v.Data.(wire.Status)
			assert.NotEmpty(t, status.Role)
			assert.GreaterOrEqual(t, status.Uptime, time.Duration(0))
			assert.Contains(t, info, "role:"+status.Role)
		}
	})
}
