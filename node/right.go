package node

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// rightsInterval is how often a master that refuses scripts is asked whether it still does, if somebody wants a lock.
const rightsInterval = time.Second

// RightError reports that a master is not asked for a lock because it refuses the script that would release it.
type RightError struct {
	// Err is what it replied.
	Err error
}

func (e *RightError) Error() string {
	return fmt.Sprintf("not asked, since it refuses the scripts that release a lock: %v: allow EVALSHA, EVAL and the commands of the scripts to this user", e.Err)
}

// Unwrap returns Err.
func (e *RightError) Unwrap() error { return e.Err }

// bars are the scripts that the master refuses for want of a right; under nil, all scripts. An operation that one of them would
// undo is not sent while the master refuses it. The pipe's mutex guards them.
type bars map[*Script]*bar

// bar is one script that the master refuses, or all.
type bar struct {
	err     *RightError
	probe   *Op  // shows whether it still does
	text    bool // the probe goes out with its script's text
	retryAt time.Time
	call    *Call // the probe that is under way; nil: none
}

// anyScript asks for a script that no server has. One that answers NOSCRIPT may be sent scripts.
var anyScript = Command("rights", nil, "evalsha", noScript, 0)

// noScript is the digest of no script.
const noScript = "0000000000000000000000000000000000000000"

// against returns the bar that keeps an operation from being sent; nil if none does.
func (bs bars) against(op *Op) *bar {
	if len(bs) == 0 || op.undo == nil {
		return nil
	}
	if b := bs[nil]; b != nil {
		return b
	}
	return bs[op.undo]
}

// set bars a script, or all. It reports whether that is news.
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

// learn draws conclusions from an error reply to a script. pursued says that it was to undo something.
func (bs *bars) learn(c *Call, err error, now time.Time) (news *RightError) {
	inScript, command := missingRight(err)
	if !command || inScript && !c.Pursue {
		return nil // it is about a key, or what needs this script fails by itself
	}
	b := &bar{err: &RightError{Err: err}, probe: c.Op, text: c.asText, retryAt: now.Add(rightsInterval)}
	scope := c.Op.script
	if !inScript {
		scope = nil
		if !c.asText {
			b.probe, b.text = anyScript, false
		}
	}
	if !bs.set(scope, b) {
		return nil
	}
	return b.err
}

// handshake notes what a new connection found.
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

// probed takes the reply to c if c is a probe. over is set when it shows that the right is back.
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

// missingRight reports whether an error reply says that a user may not run a command, or that there is no such command, and
// whether a script ran into it. Redis words it differently from version to version.
func missingRight(err error) (inScript, command bool) {
	answer, ok := err.(redis.Error) //nolint:errorlint // a reply as it came
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
	known bool  // the master answered that they are allowed, or err is set
	err   error // it refuses them
}

// rightOf reads the reply to anyScript. Whatever else than a clear answer comes says nothing.
func rightOf(err error) scriptRight {
	_, command := missingRight(err)
	switch {
	case command:
		return scriptRight{known: true, err: err}
	default:
		return scriptRight{known: hasPrefix(err, "NOSCRIPT")}
	}
}
