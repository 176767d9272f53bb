package wire_test

import (
	"bufio"
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/wire"
)

func TestAKnownScriptIsSentAsItsDigest(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		for i := range 10 {
			require.Equal(t, wire.Granted, r.ask(acquire("a", token(i))).result().Verdict)
			require.Equal(t, wire.Granted, r.ask(release("a", token(i))).result().Verdict)
		}
		assert.Equal(t, 10, r.m.Count("EVALSHA"))
		assert.Equal(t, 1, r.m.Count("EVAL"))
	})
}

func TestScriptsSurviveAFlushInTheMiddleOfABatch(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		for round := range 3 {
			r.m.FlushScripts()
			r.m.Set("mine", "me", ttl)
			r.m.Set("extended", "me", time.Second)
			r.m.Set("another's", "another", ttl)
			r.occupy()
			tickets := []*ticket{
				r.ask(release("mine", "me")),
				r.ask(acquire("mine", "next")),
				r.ask(extend("extended", "me")),
				r.ask(release("another's", "me")),
				r.ask(release("free", "me")),
			}
			var got []wire.Verdict
			for _, tk := range tickets {
				got = append(got, tk.result().Verdict)
			}
			// The release must be sent again, so the acquire after it is executed first. No caller relies on that order.
			assert.Equal(
				t, []wire.Verdict{wire.Granted, wire.Denied, wire.Granted, wire.Denied, wire.Denied}, got, "round %d", round,
			)
			assert.Empty(t, r.m.Get("mine"))
			assert.Greater(t, r.m.TTL("extended"), time.Second)
			assert.Equal(t, "another", r.m.Get("another's"))
		}
	})
}

func TestReadNumber(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply any
		want  wire.Vote
	}{
		"a number":         {int64(7), wire.Vote{Verdict: wire.Granted, Number: 7}},
		"zero":             {int64(0), wire.Vote{Verdict: wire.Denied}},
		"healed":           {int64(-1), wire.Vote{Verdict: wire.Denied, Healed: true}},
		"held for 0 ms":    {int64(-2), wire.Vote{Verdict: wire.Denied, Wait: time.Millisecond}},
		"held for a while": {int64(-1001), wire.Vote{Verdict: wire.Denied, Wait: time.Second}},
	} {
		assert.Equal(t, c.want, wire.ReadNumber(c.reply), name)
	}
	for name, reply := range map[string]any{
		"text": "1", "null": nil, "a list": []any{int64(1)}, "too large": int64(1 << 53), "too small": int64(-1 << 53),
	} {
		v := wire.ReadNumber(reply)
		assert.Equal(t, wire.Unknown, v.Verdict, name)
		assert.Error(t, v.Err, name)
	}
}

// Arguments returns what runs on a master without the script.
func TestArgumentsOfAnOperation(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []any{"set", "k", "v"}, wire.Command("x", nil, "set", "k", "v").Arguments())
	s := wire.NewScript("return 1")
	assert.Equal(t, []any{"eval", "return 1", "1", "k", "7"}, s.Op("x", nil, []string{"k"}, 7).Arguments())
	assert.Equal(t, "12", s.Op("x", nil, make([]string, 12)).Arguments()[2])
}

// FuzzScript checks that an operation of a script has its keys and arguments, with the digest as with the text.
func FuzzScript(f *testing.F) {
	f.Add("set", "a", []byte("me"), int64(-1))
	f.Add("", "\r\n$3\r\n", []byte{0, 255}, int64(1)<<62)
	f.Fuzz(func(t *testing.T, text, key string, value []byte, n int64) {
		op := wire.NewScript(text).Op("x", nil, []string{key, key}, value, n)
		byHash := resp.Commands(wire.Encoded(op))[0]
		require.Equal(t, "evalsha", byHash[0])
		require.Equal(t, []any{"2", key, key, string(value), fmt.Sprint(n)}, byHash[2:])
		require.Equal(t, [][]any{append([]any{"eval", text}, byHash[2:]...)}, resp.Commands(wire.EncodedText(op)))
	})
}

func TestVerdictStrings(t *testing.T) {
	t.Parallel()
	for v, want := range map[wire.Verdict]string{
		wire.Granted: "granted", wire.Denied: "denied", wire.Failed: "failed", wire.Unknown: "unknown", 9: "unknown",
	} {
		assert.Equal(t, want, v.String())
		assert.Equal(t, v == wire.Granted || v == wire.Denied, v.Answered())
	}
	assert.Equal(t, wire.Unknown, wire.Vote{}.Verdict, "nothing follows from the zero vote")
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
	for _, reply := range []string{
		":1\r\n", ":0\r\n", ":-1\r\n", ":-2\r\n",
		":9007199254740991\r\n", ":9007199254740992\r\n", ":-9223372036854775808\r\n",
		"+OK\r\n", "+ok\r\n", "$2\r\nOK\r\n", "$-1\r\n", "*-1\r\n", "*1\r\n:1\r\n", "-ERR no\r\n",
		"$11\r\nrole:master\r\n", "$34\r\nrole:slave\r\nuptime_in_seconds:-1\r\n\r\n",
	} {
		f.Add([]byte(reply))
	}
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
