package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/internal/link"
	"github.com/redlock-go/redlock/internal/replyerr"
	"github.com/redlock-go/redlock/internal/wire"
	"github.com/redlock-go/redlock/quorum"
)

// scratch is the beginning of the name on which the trial acquires locks.
const scratch = "redlock:doctor"

// noScript is the digest of no script: a server that lets this user run scripts answers NOSCRIPT.
var noScript = strings.Repeat("0", 40)

// trial is what happened to the commands of a lock on a scratch name.
type trial struct {
	commands []refusal // refused commands of locks, by name
	scripts  []refusal // refused operations: different errors only
	messages []refusal // refused PUBLISH, SUBSCRIBE
	channels *[]string // the patterns of channels that the user may use; nil: unknown
	keys     *[]string // the patterns of keys that the user may use; nil: unknown
	noACL    bool      // the server does not know ACL
	names    error     // why the user may not use a key that does not begin with "redlock:"
	failure  error     // of the connection
}

// runTrial acquires and releases a lock of each kind, with the operations of the library, and executes each command of
// the scripts by itself: which of them a script comes to depends on the time that has passed. It uses connections of
// its own: a server that blocks writes must not end the examination.
func (o *observer) runTrial(ttl time.Duration) (t trial) {
	name := kind.NewToken(scratch)
	_, t.failure = o.over(func(a *asker) error {
		t = trial{}
		return t.try(a, name, ttl)
	})
	if t.failure != nil {
		return t
	}
	_, err := o.over(func(a *asker) error { return a.conn.Subscribe(a.ctx, kind.Channel(name)) })
	switch {
	case dismissal(err):
		t.failure = err
	case err != nil:
		t.messages = append(t.messages, refusal{"subscribe", err})
	}
	forbidden := func(r refusal) bool { return reasonFor(r.err) == forbiddenChannel }
	if t.names != nil || len(t.commands) > 0 || slices.ContainsFunc(t.messages, forbidden) {
		_, _ = o.over(func(a *asker) error { return t.askPatterns(a, o.m.user) }) // unknown without an answer
	}
	return t
}

// batch is how many commands are sent in one round trip. With the texts of all scripts, the buffer of one batch might
// be what a server has no memory for.
const batch = 12

// try executes the operations and the commands.
func (t *trial) try(a *asker, name string, ttl time.Duration) error {
	var questions [][]any
	var names []string
	for _, op := range operations(name, ttl) {
		questions, names = append(questions, op.Arguments()), append(names, op.Name)
	}
	scripts := len(questions)
	questions = append(questions, lockCommands(name)...)
	channel := len(questions)
	questions = append(questions, []any{"publish", kind.Channel(name), ""}, []any{"pttl", kind.NewToken("doctor")})
	var answers []link.Answer
	for part := range slices.Chunk(questions, batch) {
		answers = append(answers, a.conn.DoAll(a.ctx, part)...)
	}
	seen := map[string]bool{}
	for i, answer := range answers {
		err := answer.Err
		switch {
		case err == nil, replyerr.Is(err) && strings.HasPrefix(err.Error(), "NOSCRIPT"):
		case !replyerr.Is(err), dismissal(err):
			return err
		case i > channel:
			if reasonFor(err) == forbiddenKey {
				t.names = err
			}
		case i == channel:
			t.messages = append(t.messages, refusal{"publish", err})
		case i >= scripts:
			t.commands = append(t.commands, refusal{fmt.Sprint(questions[i][0]), err})
		case !seen[err.Error()]:
			seen[err.Error()] = true
			t.scripts = append(t.scripts, refusal{names[i], err})
		}
	}
	return nil
}

// askPatterns asks for the patterns of channels and keys that the user may use: it may have a right to those of its
// locks but not to those of the scratch name or of another name.
func (t *trial) askPatterns(a *asker, user string) error {
	reply, err := a.conn.Do(a.ctx, "acl", "getuser", user)
	if err != nil && !replyerr.Is(err) {
		return err
	}
	t.noACL = err != nil && reasonFor(err) == unknownCommand
	fields, _ := reply.([]any)
	selectors := false
	for i := 0; i+1 < len(fields); i += 2 {
		patterns := strings.FieldsFunc(fmt.Sprint(fields[i+1]), func(r rune) bool { return strings.ContainsRune("[] &~", r) })
		switch fields[i] {
		case "channels":
			t.channels = &patterns
		case "keys":
			t.keys = &patterns
		case "selectors":
			selectors = len(patterns) > 0
		}
	}
	if selectors { // they have other keys
		t.keys = nil
	}
	return nil
}

// operations returns the operations of a lock's life, for each kind, with and without fencing.
func operations(name string, ttl time.Duration) (ops []*wire.Op) {
	for _, k := range kind.All {
		for _, fencing := range []bool{false, true} {
			claim := &kind.Claim{
				Target: kind.Target{Kind: k, Names: []string{name}, Owner: "doctor"},
				Token:  kind.NewToken("doctor"), Intent: kind.NewToken("doctor"), Scripts: kind.DefaultScripts,
			}
			life, terms := claim.Ops(), &quorum.Terms{TTL: ttl, Fencing: fencing}
			ops = append(ops, claim.Probe(ttl), life.Acquire(terms, time.UnixMicro(1)), life.Extend(terms, 0))
			if fencing {
				ops = append(ops, life.Raise(terms, 2))
			}
			ops = append(ops, claim.Withdraw(true), life.Release(true))
		}
	}
	return append(ops, kind.DefaultScripts.Inspect(name, true))
}

// lockCommands returns each command of docs/masters.md that a lock needs, so that it changes nothing but the scratch
// name, which is then gone. Counters of fences remain until their TTL ends.
func lockCommands(name string) [][]any {
	return [][]any{
		{"set", name, "doctor", "PX", 1000},
		{"del", name, kind.FenceKey(name), kind.IntentKey(name)},
		{"get", name},
		{"pexpire", name, 1},
		{"pexpireat", name, 1},
		{"pttl", name},
		{"type", name},
		{"zadd", name, "XX", 1, "m"}, // XX: only if it exists
		{"zrem", name, "m"},
		{"zrange", name, 0, 0},
		{"zrangebyscore", name, 0, 0},
		{"zremrangebyscore", name, 0, 0},
		{"zscore", name, "m"},
		{"time"},
		{"eval", "return 1", 0},
		{"evalsha", noScript, 0},
	}
}
