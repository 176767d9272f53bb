package wire

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/resp"
)

const (
	noCommand     = resp.Error("NOPERM this user has no permissions to run the 'evalsha' command")
	noEvalsha     = resp.Error("ERR unknown command 'evalsha', with args beginning with: ")
	noInScript    = resp.Error("ERR The user executing the script can't run this command or subcommand")
	words70       = resp.Error("ERR ACL failure in script: User me has no permissions to run the 'del' command")
	words72       = resp.Error("NOPERM ACL failure in script: User me has no permissions to run the 'del' command")
	noDel         = resp.Error("ERR Unknown Redis command called from script")
	noKey         = resp.Error("NOPERM this user has no permissions to access one of the keys used as arguments")
	foreignFence  = resp.Error("WRONGTYPE redlock:fence:unknown command is no fence")
	noKeyInScript = resp.Error("ERR The user executing the script can't access at least one of the keys mentioned")
)

func TestRightsLearnFromRefusals(t *testing.T) {
	t.Parallel()
	other := Command("acquire", nil, "set", "b", "me").UndoneBy(NewScript("return 2"))
	free := Command("count", nil, "incr", "n")
	keep := NewScript("return 3").Op("keep", nil, []string{"a"})
	text := func(c *Call) { c.asText = true }
	for name, c := range map[string]struct {
		call                      *Call
		err                       error
		acquire, another, nothing bool // which operations are refused: undone by the script, by another one, by none
	}{
		"EVALSHA":               {anyCall(durable), noCommand, true, true, false},
		"EVALSHA, no release":   {anyCall(func(c *Call) { c.Op = aRelease }), noCommand, true, true, false},
		"EVAL":                  {anyCall(durable, text), noCommand, true, true, false},
		"a command in a script": {anyCall(durable), noInScript, true, false, false},
		"the words of 7.0":      {anyCall(durable), words70, true, false, false},
		"the words of 7.2":      {anyCall(durable), words72, true, false, false},
		"DEL was renamed":       {anyCall(durable), noDel, true, false, false},
		"EVALSHA was renamed":   {anyCall(durable), noEvalsha, true, true, false},
		"EVALSHA, undoes none":  {anyCall(durable, func(c *Call) { c.Op = keep }), noCommand, true, true, false},
		"one that undoes none":  {anyCall(durable, func(c *Call) { c.Op = keep }), noInScript, false, false, false},
		"a key":                 {anyCall(durable), noKey, false, false, false},
		"a key in a script":     {anyCall(durable), noKeyInScript, false, false, false},
		"another error":         {anyCall(durable), errBroken, false, false, false},
		"a name like a refusal": {anyCall(durable), foreignFence, false, false, false},
	} {
		var rs rights
		found := rs.learn(c.call, c.err, at(9))
		assert.Equal(t, c.acquire, found != nil, name)
		assert.Equal(t, c.acquire, rs.refused(anAcquire, at(9.9)) != nil, name)
		assert.Equal(t, c.another, rs.refused(other, at(9.9)) != nil, name)
		assert.Equal(t, c.nothing, rs.refused(free, at(9.9)) != nil, name)
		assert.Nil(t, rs.learn(c.call, c.err, at(9)), "%s: it is known", name)
		assert.NoError(t, rs.refused(anAcquire, at(10)), "%s: a recheck is due", name)
		if m := rs[nil]; m != nil {
			assert.Same(t, anyScript, m.recheck, name)
			assert.Equal(t, name == "EVAL", m.text, name)
		}
	}
}

func TestRightsAreRechecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		byHandshake bool // the recheck is EVALSHA of no script, otherwise the release
		reply       link.Reply
		allowed     bool
		retry       float64
	}{
		"refused again":        {true, link.Reply{Err: noCommand}, false, 11},
		"lost":                 {true, link.Reply{Result: link.InDoubt, Err: errBroken}, false, 10},
		"allowed":              {true, link.Reply{Err: resp.Error("NOSCRIPT No matching script.")}, true, 0},
		"the release, allowed": {false, link.Reply{Value: int64(0)}, true, 0},
		"it needs its text":    {false, link.Reply{Err: resp.Error("NOSCRIPT No matching script.")}, false, 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var rs rights
			if c.byHandshake {
				require.NotNil(t, rs.handshake(link.ScriptRight{Err: noCommand}, at(9)))
				require.Nil(t, rs.handshake(link.ScriptRight{Err: noCommand}, at(9)), "it is known")
			} else {
				require.NotNil(t, rs.learn(anyCall(durable), noInScript, at(9)))
			}
			recheck, wait, err := rs.check(anAcquire, at(9.9))
			assert.Nil(t, recheck)
			assert.False(t, wait)
			require.Error(t, err)
			for i := range 2 {
				another, wait, err := rs.check(anAcquire, at(10))
				require.Equal(t, i == 0, another != nil, "one at a time")
				assert.True(t, wait)
				require.NoError(t, err)
				recheck = cmp.Or(recheck, another)
			}
			assert.False(t, recheck.claimVote(), "no caller waits for its vote")
			isRecheck, _ := rs.rechecked(anyCall(), c.reply, at(10))
			assert.False(t, isRecheck)
			isRecheck, over := rs.rechecked(recheck, c.reply, at(10))
			assert.True(t, isRecheck)
			assert.Equal(t, c.allowed, over != nil)
			m := rs.missing(anAcquire)
			assert.Equal(t, c.allowed, m == nil)
			if m != nil {
				assert.Equal(t, at(c.retry), m.retryAt)
				assert.Equal(t, name == "it needs its text", m.text)
			}
		})
	}
}

// A release that the master executes shows that the user has the right again, unless a recheck is on its way.
func TestAnExecutedReleaseRestoresTheRight(t *testing.T) {
	t.Parallel()
	var rs rights
	learned := rs.learn(anyCall(durable), noInScript, at(9))
	require.NotNil(t, learned)
	require.NotNil(t, rs.handshake(link.ScriptRight{Err: noCommand}, at(9)))
	assert.Nil(t, rs.executed(anyCall()), "a command")
	assert.Equal(t, learned, rs.executed(anyCall(durable)))
	assert.Len(t, rs, 1, "scripts are still refused")
	assert.Nil(t, rs.executed(anyCall(durable)))

	require.NotNil(t, rs.learn(anyCall(durable), noInScript, at(9)))
	delete(rs, nil)
	recheck, _, _ := rs.check(anAcquire, at(10))
	require.NotNil(t, recheck)
	assert.Nil(t, rs.executed(anyCall(durable)))
	_, over := rs.rechecked(recheck, link.Reply{Err: noInScript}, at(10))
	assert.Nil(t, over)
	assert.Error(t, rs.refused(anAcquire, at(10)))
}

func TestANewConnectionRestoresRights(t *testing.T) {
	t.Parallel()
	var rs rights
	require.NotNil(t, rs.handshake(link.ScriptRight{Err: noCommand}, at(9)))
	assert.Nil(t, rs.handshake(link.ScriptRight{}, at(10)), "the handshake shows nothing")
	assert.Nil(t, rs.handshake(link.ScriptRight{Allowed: true}, at(8.9)), "it began before the refusal")
	require.Error(t, rs.refused(anAcquire, at(9.9)))
	report := rs.handshake(link.ScriptRight{Allowed: true}, at(10))
	require.NotNil(t, report)
	assert.True(t, report.Over)
	require.NoError(t, rs.refused(anAcquire, at(9.9)))

	require.NotNil(t, rs.learn(anyCall(durable, func(c *Call) { c.asText = true }), noCommand, at(10)))
	assert.Nil(t, rs.handshake(link.ScriptRight{Allowed: true}, at(10)), "it says nothing about EVAL")
	assert.Error(t, rs.refused(anAcquire, at(10)))
	assert.Equal(t, [][]any{{"evalsha", link.NoScript, "0"}}, resp.Commands(anyScript.out))
	assert.Equal(t, []any{"eval", "return 1", "0"}, anyScript.Arguments())
}

// A recheck that was lost shows nothing, so another one is due, even if the master has refused the script meanwhile.
func TestALostRecheckOfARightIsRepeatedAtOnce(t *testing.T) {
	t.Parallel()
	var rs rights
	require.NotNil(t, rs.handshake(link.ScriptRight{Err: noCommand}, at(9)))
	recheck, _, _ := rs.check(anAcquire, at(10))
	require.Nil(t, rs.handshake(link.ScriptRight{Err: noCommand}, at(10.5)))
	require.NoError(t, rs.refused(anAcquire, at(10.6)), "the recheck decides")
	rs.rechecked(recheck, link.Reply{Result: link.InDoubt, Err: errBroken}, at(10.6))
	recheck, _, _ = rs.check(anAcquire, at(10.6))
	assert.NotNil(t, recheck)
}

// A server that has the text of a script cannot lack the script. One that says so anyway is rechecked like any other.
func TestARecheckWithItsTextThatIsAnsweredByNOSCRIPT(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{"EVAL": noCommand, "a command in a script": noInScript} {
		var rs rights
		require.NotNil(t, rs.learn(anyCall(durable, func(c *Call) { c.asText = true }), refusal, at(9)), name)
		for _, due := range []float64{10, 11} {
			recheck, _, _ := rs.check(anAcquire, at(due))
			require.NotNil(t, recheck, name)
			assert.Equal(t, "eval", resp.Commands(recheck.bytes())[0][0], name)
			rs.rechecked(recheck, link.Reply{Err: resp.Error("NOSCRIPT No matching script.")}, at(due))
			require.Error(t, rs.refused(anAcquire, at(due+0.9)), "%s: not at once", name)
		}
	}
}
