package wire_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/testnet"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/node"
)

// requireGranted requires that every call is granted.
func requireGranted(t *testing.T, all ...*ticket) {
	t.Helper()
	for _, tk := range all {
		v := tk.result()
		require.Equal(t, wire.Granted, v.Verdict, "call %d, %s: %v", tk.call.Index, tk.call.Op.Name, v.Err)
	}
}

// assertUnknown asserts that it is unknown whether the calls were executed.
func assertUnknown(t *testing.T, all ...*ticket) {
	t.Helper()
	for _, tk := range all {
		v := tk.result()
		assert.Equal(t, wire.Unknown, v.Verdict)
		require.Error(t, v.Err)
	}
}

// assertUnsent asserts that a call failed because of err, and was certainly not sent.
func assertUnsent(t *testing.T, v wire.Vote, err error) {
	t.Helper()
	assert.Equal(t, wire.Failed, v.Verdict)
	assert.True(t, v.Unsent)
	require.ErrorIs(t, v.Err, err)
}

func TestErrorReplies(t *testing.T) {
	type tc struct {
		reply     string
		permanent bool
	}
	inBubbles(t, map[string]tc{
		"a missing right": {"NOPERM this user has no permissions to run the 'set' command", true},
		"a replica":       {"READONLY You can't write against a read only replica.", false},
		"a full memory":   {"OOM command not allowed when used memory > 'maxmemory'.", false},
	}, func(t *testing.T, r *rig, c tc) {
		r.warm()
		r.m.Reply(c.reply, "SET", "EVALSHA")
		for _, op := range []*wire.Op{acquire("a", "me"), extend("a", "me"), release("a", "me")} {
			v := r.ask(op).result()
			assert.Equal(t, wire.Failed, v.Verdict)
			assert.False(t, v.Unsent, "it was sent")
			require.ErrorContains(t, v.Err, c.reply)
			assert.Equal(t, c.permanent, node.Permanent(v.Err))
		}
		assert.False(t, r.node.Suspect(), "it answers")
		time.Sleep(5 * time.Second)
		assert.Len(t, r.executed(), 3, "a call that is not durable is sent once")
		r.m.Recover()
		assert.Equal(t, wire.Granted, r.ask(acquire("a", "me")).result().Verdict)
	})
}

// An error reply concerns one command, not its batch.
func TestAnErrorReplyInABatchConcernsItsOwnCall(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warmAt(trip)
		r.occupy()
		r.m.ReplyTimes(1, "OOM command not allowed when used memory > 'maxmemory'.", "EVALSHA")
		before, bad, behind := r.ask(acquire("a", "me")), r.ask(release("a", "me")), r.ask(acquire("b", "me"))
		requireGranted(t, before, behind)
		assert.Equal(t, wire.Failed, bad.result().Verdict)
	})
}

// The connection breaks in the middle of the replies. A call that was answered before gets its answer or Unknown.
func TestRepliesBeforeABrokenConnectionCount(t *testing.T) {
	inEmptyBubbles(t, map[string]string{
		"behind a reply":      "",
		"inside a status":     "+O",
		"inside a number":     ":1",
		"inside a bulk":       "$5\r\nab",
		"inside a list":       "*3\r\n$5\r\nmutex\r\n",
		"inside an empty one": "*1\r\n",
	}, func(t *testing.T, last string) {
		srv, goOn := &testnet.Scripted{}, make(chan struct{})
		srv.Answer = func(args []string) (string, bool) {
			switch args[1] {
			case "ahead":
				<-goOn
				return "+OK\r\n", false
			case "broken":
				return last, true
			case "held":
				return "$-1\r\n", false
			default:
				return "+OK\r\n", false
			}
		}
		r := newRig(t, nil, "redis://10.9.9.9", node.WithDialer(srv.Dial))
		r.ask(acquire("ahead", "me"))
		synctest.Wait() // it is in flight, so that the others wait and form one batch
		free, held := r.ask(acquire("free", "me")), r.ask(acquire("held", "me"))
		broken, behind := r.ask(acquire("broken", "me")), r.ask(acquire("behind", "me"))
		close(goOn)
		assert.Contains(t, []wire.Verdict{wire.Granted, wire.Unknown}, free.result().Verdict)
		assert.Contains(t, []wire.Verdict{wire.Denied, wire.Unknown}, held.result().Verdict)
		assertUnknown(t, broken, behind)
		assert.Equal(t, wire.Granted, r.ask(acquire("next", "me"), within(time.Second)).result().Verdict)
	})
}

func TestAReplyOfAnUnexpectedKindIsUnknown(t *testing.T) {
	inBubble(t, func(t *testing.T, r *rig) {
		r.warm()
		odd := wire.NewScript(`return 'text'`).Op("odd", nil, []string{"a"})
		v := r.ask(odd).result()
		assert.Equal(t, wire.Unknown, v.Verdict)
		require.ErrorContains(t, v.Err, "text")
		r.answers(time.Second, "b")
		null := wire.NewScript(`return nil`).Op("odd", nil, []string{"a"})
		assert.Equal(t, wire.Unknown, r.ask(null).result().Verdict)
		assert.Equal(t, 2+comparing, r.m.ConnsEver(), "later replies over such a connection may belong to other calls")
		assert.Equal(t, []string{"suspect", "well", "suspect"}, r.healthReports())
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

func TestAServerThatIsNotRedisIsAPermanentFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		srv := &testnet.Scripted{Hello: "HTTP/1.1 400 Bad Request\r\n"}
		r := newRig(t, nil, "redis://:hunter2@10.9.9.9", node.WithDialer(srv.Dial))
		v := r.ask(acquire("a", "me")).result()
		assertUnsent(t, v, node.ErrNotRedis)
		assert.NotContains(t, v.Err.Error(), "hunter2")
		assert.True(t, r.node.Suspect())
		v = r.ask(acquire("a", "me")).result()
		assert.True(t, node.Permanent(v.Err), "also as a suspect")
	})
}
