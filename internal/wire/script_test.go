package wire_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/resp"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
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

// A second sending would follow the release and set the key again.
func TestACanceledExtendIsNotSentAgainAsText(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		require.NotContains(t, r.m.Counts(), "EVAL extend")
		evals := r.m.Count("EVAL")
		var over atomic.Bool
		ext := r.ask(extend("a", "me"), canceledBy(&over))
		synctest.Wait() // it is on the wire, and the master does not know its script
		over.Store(true)
		rel := r.ask(release("a", "me"), durably)
		assert.Equal(t, wire.Granted, rel.result().Verdict)
		v := ext.result()
		assert.Equal(t, wire.Failed, v.Verdict)
		require.ErrorIs(t, v.Err, node.ErrDropped)
		time.Sleep(time.Second)
		assert.True(t, r.gone())
		assert.Equal(t, evals, r.m.Count("EVAL"))
	})
}

// The same for a caller that got Unknown before the reply arrived.
func TestAnExpiredExtendIsNotSentAgainAsText(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		require.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
		r.m.Freeze()
		var over atomic.Bool
		require.Equal(t, wire.Unknown, r.ask(extend("a", "me"), canceledBy(&over)).result().Verdict)
		over.Store(true)
		r.ask(release("a", "me"), durably)
		time.Sleep(time.Second)
		r.m.Thaw()
		time.Sleep(time.Second)
		assert.True(t, r.gone())
		for _, e := range r.executed() {
			if e.Args[0] == "eval" {
				assert.Len(t, e.Args, 5, "a release has one argument, an extend two")
			}
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
