package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// rightsInterval is how often a master that refuses scripts is probed for the missing right, while locks are asked for.
const rightsInterval = time.Second

// RightError reports that a master is not asked for a lock, because it refuses the script that would release the lock.
type RightError struct {
	// Err is the master's error reply to the script.
	Err error
}

func (e *RightError) Error() string {
	return fmt.Sprintf("not asked, since it refuses the scripts that release a lock: %v: "+
		"allow EVALSHA, EVAL and the commands of the scripts to this user", e.Err)
}

// Unwrap returns Err.
func (e *RightError) Unwrap() error { return e.Err }

// bars are the scripts that the master refuses because the user lacks a right. The key nil stands for all scripts.
// While the master refuses a script, no operation that this script would undo is sent to it: a lock that the master
// cannot release is not set there. The pipe's mutex guards bars.
type bars map[*Script]*bar

// bar is a script that the master refuses, or all scripts.
type bar struct {
	err     *RightError
	probe   *Op       // the operation that shows whether the master still refuses
	text    bool      // the probe is sent with the text of its script
	retryAt time.Time // when the probe may be sent
	call    *Call     // the probe that is in flight; nil: none
}

// anyScript calls a script that no server has. A server that answers NOSCRIPT lets this user run scripts.
var anyScript = Command("rights", nil, "evalsha", noScript, 0)

// noScript has the form of a script's digest, but is the digest of no script.
const noScript = "0000000000000000000000000000000000000000"

// against returns the bar for which op must not be sent; nil if there is none.
func (bs bars) against(op *Op) *bar {
	if len(bs) == 0 || op.undo == nil {
		return nil
	}
	if b := bs[nil]; b != nil {
		return b
	}
	return bs[op.undo]
}

// set bars the script s, or all scripts if s is nil. It reports whether they were not barred before.
func (bs *bars) set(s *Script, b *bar) (isNew bool) {
	if *bs == nil {
		*bs = make(bars)
	}
	old := (*bs)[s]
	if old != nil {
		b.call = old.call
	}
	(*bs)[s] = b
	return old == nil
}

// learn reads an error reply to a script, and bars the script or all scripts if the reply reports a missing right. It
// returns the error if that is news.
func (bs *bars) learn(c *Call, err error, now time.Time) (news *RightError) {
	inScript, command := missingRight(err)
	if !command || inScript && !c.Delivery.Durable {
		return nil // the right to a key is missing, or the script is not one that undoes an operation
	}
	b := &bar{err: &RightError{Err: err}, probe: c.Op, text: c.f.asText, retryAt: now.Add(rightsInterval)}
	scope := c.Op.script
	if !inScript {
		scope = nil
		if !c.f.asText {
			b.probe, b.text = anyScript, false
		}
	}
	if !bs.set(scope, b) {
		return nil
	}
	return b.err
}

// handshake records what the handshake of a new connection found out about the right to run scripts.
func (bs *bars) handshake(r scriptRight, now time.Time) (news *RefusalError) {
	old := (*bs)[nil]
	switch {
	case r.err != nil:
		b := &bar{err: &RightError{Err: r.err}, probe: anyScript, retryAt: now.Add(rightsInterval)}
		if bs.set(nil, b) {
			return &RefusalError{Err: b.err}
		}
	case r.known && old != nil && old.probe == anyScript:
		delete(*bs, nil)
		return &RefusalError{Err: old.err, Over: true}
	}
	return nil
}

// probed handles the reply r to c if c is a probe, and reports whether it is. over is the bar's error if the reply
// shows that the user has the right again.
func (bs bars) probed(c *Call, r reply, now time.Time) (ours bool, over *RightError) {
	for scope, b := range bs {
		if b.call != c {
			continue
		}
		b.call = nil
		noScript := hasPrefix(r.err, "NOSCRIPT")
		switch {
		case r.result != answered:
			b.retryAt = now
		case r.err == nil, noScript && b.probe == anyScript:
			delete(bs, scope)
			return true, b.err
		case noScript:
			b.text, b.retryAt = true, now
		default:
			b.retryAt = now.Add(rightsInterval)
		}
		return true, nil
	}
	return false, nil
}

// missingRight parses an error reply. command reports whether the user may not run a command, or whether the server
// does not know the command. inScript reports whether the error happened inside a script. The texts differ between
// versions of Redis.
func missingRight(err error) (inScript, command bool) {
	answer, ok := err.(redis.Error) //nolint:errorlint // a reply is not wrapped
	if !ok {
		return false, false
	}
	text, _, _ := strings.Cut(answer.Error(), "redlock:fence:") // a lock's name may read like a refusal
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	inScript = has("in script", "executing the script", "called from")
	command = has("to run the '", "can't run this command", "nknown command", "nknown Redis command")
	return inScript, command
}

// scriptRight is what a handshake found out about the right to run scripts.
type scriptRight struct {
	known bool  // the master allows scripts, or refuses them with err
	err   error // the refusal; nil: none
}

// rightOf reads the reply to anyScript. A reply that neither refuses nor allows scripts leaves the right unknown.
func rightOf(err error) scriptRight {
	_, command := missingRight(err)
	switch {
	case command:
		return scriptRight{known: true, err: err}
	default:
		return scriptRight{known: hasPrefix(err, "NOSCRIPT")}
	}
}
