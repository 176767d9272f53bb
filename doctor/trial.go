package doctor

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/kind"
	"github.com/redlock-go/redlock/node"
)

// scratch is the beginning of the name on which the trial acquires locks.
const scratch = "redlock:doctor"

// noScript is the digest of no script: a server that lets this user run scripts answers NOSCRIPT.
var noScript = strings.Repeat("0", 40)

// trial is what happened to the commands of a lock on a scratch name.
type trial struct {
	user     string
	refusals []refusal // different errors only
	messages []refusal // of PUBLISH and SUBSCRIBE, which wake waiters
	dryRun   []refusal // commands that ACL DRYRUN says the user may not run
	unasked  []refusal // the questions that the master did not answer
}

// runTrial acquires and releases a lock of each kind, with the operations of the library, on a connection of its own: a
// server that blocks writes must not end the examination.
func runTrial(ctx context.Context, n *node.Node, ttl time.Duration) (t trial) {
	conn := n.Connect()
	defer conn.Close()
	name := kind.NewToken(scratch)
	seen := map[string]bool{}
	run := func(what string, args []any) bool {
		_, err := conn.Do(ctx, args...)
		if err != nil && !strings.HasPrefix(err.Error(), "NOSCRIPT") && !seen[err.Error()] {
			seen[err.Error()] = true
			t.refusals = append(t.refusals, refusal{what, err})
		}
		return err == nil || node.IsReply(err)
	}
	for _, op := range operations(name, ttl) {
		if !run(op.Name, op.Arguments()) {
			return t
		}
	}
	if !run("evalsha", []any{"evalsha", noScript, 0}) ||
		!run("del", []any{"del", name, kind.FenceKey(name), kind.IntentKey(name)}) { // counters of fences remain
		return t
	}
	if _, err := conn.Do(ctx, "publish", kind.Channel(name), ""); err != nil {
		t.noteMessage("PUBLISH", err)
		if !node.IsReply(err) {
			return t
		}
	}
	t.dryRuns(ctx, conn, name)
	subscription := n.Connect()
	defer subscription.Close()
	if err := subscription.Subscribe(ctx, kind.Channel(name)); err != nil {
		t.noteMessage("SUBSCRIBE", err)
	}
	return t
}

// noteMessage notes that PUBLISH or SUBSCRIBE failed. A user may have a right to the channels of its locks, but not to
// that of the scratch name.
func (t *trial) noteMessage(command string, err error) {
	r := refusal{command + " on the channel of the scratch name", err}
	if strings.HasPrefix(err.Error(), "NOPERM") && strings.Contains(err.Error(), "access one of the channel") {
		t.unasked = append(t.unasked, r)
		return
	}
	t.messages = append(t.messages, r)
}

// operations returns the operations of a lock's life, for each kind, with and without fencing.
func operations(name string, ttl time.Duration) (ops []*node.Op) {
	for _, k := range kind.All {
		for _, fencing := range []bool{false, true} {
			claim := &kind.Claim{
				Target: kind.Target{Kind: k, Names: []string{name}, Owner: "doctor"},
				TTL:    ttl, Fencing: fencing,
				Token: kind.NewToken("doctor"), Intent: kind.NewToken("doctor"), Scripts: kind.DefaultScripts,
			}
			life := claim.Ops()
			ops = append(ops, claim.Probe(ttl), life.Acquire(time.UnixMicro(1)), life.Extend(0))
			if fencing {
				ops = append(ops, life.Raise(2))
			}
			ops = append(ops, claim.Withdraw(true), life.Release(true))
		}
	}
	return append(ops, kind.DefaultScripts.Inspect(name, true))
}

// dryRuns asks whether the user has the rights of docs/masters.md, including those that the trial did not need.
func (t *trial) dryRuns(ctx context.Context, conn *node.Connection, name string) {
	reply, err := conn.Do(ctx, "acl", "whoami")
	if err != nil {
		t.unasked = append(t.unasked, refusal{"ACL WHOAMI, ACL DRYRUN", err})
		return
	}
	t.user = fmt.Sprint(reply)
	for _, command := range [][]any{
		{"set", name, "v"},
		{"get", name},
		{"del", name},
		{"pexpire", name, 1},
		{"pttl", name},
		{"type", name},
		{"zadd", name, 1, "m"},
		{"zrem", name, "m"},
		{"zrange", name, 0, 0},
		{"zrangebyscore", name, 0, 0},
		{"zremrangebyscore", name, 0, 0},
		{"zscore", name, "m"},
		{"pexpireat", name, 1},
		{"time"},
		{"eval", "return 1", 0},
		{"evalsha", noScript, 0},
		{"info"},
		{"hello"},
		{"ping"},
		{"select", 0},
		{"unsubscribe"},
	} {
		reply, err := conn.Do(ctx, append([]any{"acl", "dryrun", t.user}, command...)...)
		if err != nil {
			if node.IsReply(err) && strings.Contains(err.Error(), "not found") { // the command: it was renamed
				continue
			}
			t.unasked = append(t.unasked, refusal{"ACL DRYRUN", err})
			return
		}
		if text := fmt.Sprint(reply); text != "OK" {
			t.dryRun = append(t.dryRun, refusal{fmt.Sprint(command[0]), fmt.Errorf("%s", text)})
		}
	}
}
