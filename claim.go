package redlock

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redlock-go/redlock/node"
	"github.com/redlock-go/redlock/quorum"
)

// The kinds of locks, as masters and people know them.
const (
	kindMutex     = "mutex"
	kindReader    = "reader"
	kindWriter    = "writer"
	kindReentrant = "reentrant"
)

// target is what somebody wants to lock, and how.
type target struct {
	kind  string
	names []string // one; of a LockAll several, sorted
	owner string   // whose it is to be, where that is not the Locker
}

// title is what Lock.Name and traces call the target. Errors and logs show what listed returns.
func (t target) title() string { return strings.Join(t.names, ",") }

// check refuses what cannot be locked, before anything is sent.
func (t target) check() error {
	if len(t.names) == 0 {
		return errors.New("redlock: the list of names is empty")
	}
	if len(t.names) > maxNames {
		return fmt.Errorf("redlock: %d names: one lock may have at most %d", len(t.names), maxNames)
	}
	for _, name := range t.names {
		if name == "" {
			return errors.New("redlock: the lock's name is empty")
		}
		if len(name) > maxName {
			return fmt.Errorf("redlock: %s has %d bytes: it may have at most %d", t.which(name), len(name), maxName)
		}
		if strings.HasPrefix(name, "redlock:fence:") || strings.HasPrefix(name, "redlock:intents:") {
			return fmt.Errorf("redlock: %s is taken: "+
				"those that begin with redlock:fence: or redlock:intents: are for the keys of locks", t.which(name))
		}
	}
	if t.kind == kindReentrant && t.owner == "" {
		return errors.New("redlock: the owner is empty: give all that may share the lock one name")
	}
	return tooLong("owner", t.owner, maxOwner)
}

// which returns how an error refers to a name of the target. If there is only one name, the error shows it elsewhere.
func (t target) which(name string) string {
	if len(t.names) == 1 {
		return "the name"
	}
	return fmt.Sprintf("the name %q", truncated(name))
}

// exclusive: one Locker holds the target once at a time, so that its callers stand in one line.
func (t target) exclusive() bool { return t.kind == kindMutex || t.kind == kindWriter }

// claim is a target with the token that is to hold it: the kind's operations are made of it. It is not changed.
type claim struct {
	target
	token   string
	intent  string // the token of an exclusive waiter's intent; "" if it left none
	ttl     time.Duration
	fencing bool
	hint    int64 // the smallest fencing token to give
	scripts *scripts
}

// ops are the claim's operations for the quorum.
func (c *claim) ops() quorum.Ops {
	if c.kind == kindMutex {
		return mutex{c}
	}
	return entry{c}
}

// fenceLife is how long a counter of fencing tokens outlives the last lock that used it. When it is gone the next token
// comes from a clock (the hint), which is larger than all before as long as no client's clock is that much ahead.
const fenceLife = 24 * time.Hour

// hintLimit is the first time that cannot be a hint for fencing tokens: it is 2^53 microseconds after 1970, and numbers
// in Lua scripts are doubles, which are exact only below that. A counter with that value could not grow any more.
var hintLimit = time.UnixMicro(1 << 53)

// checkHint returns an error if the time is not one that can be a hint for a fencing token.
func checkHint(now time.Time) error {
	if now.Before(time.Unix(0, 0)) || !now.Before(hintLimit) {
		return fmt.Errorf("the clock of this machine shows %s, and fencing tokens can be taken from 1970 to %d only: "+
			"set the clock, or lock without WithFencing",
			now.UTC().Format(time.RFC3339), hintLimit.Year())
	}
	return nil
}

func (c *claim) keepFence() int64 { return (c.ttl + fenceLife).Milliseconds() }

// hintArg is the hint as the scripts take it: "" without fencing.
func (c *claim) hintArg() any {
	if c.fencing {
		return c.hint
	}
	return ""
}

// fenceArg is a fencing token as the scripts take it: "" for none.
func fenceArg(fence int64) any {
	if fence == 0 {
		return ""
	}
	return fence
}

// readRaise grants a fence that is exactly as large as it was to become: where it is larger, another token was given out.
func readRaise(fence int64) func(any) node.Vote {
	return func(reply any) node.Vote {
		v := node.ReadNumber(reply)
		if v.Verdict == node.Granted && v.Number != fence {
			v.Verdict = node.Denied
		}
		return v
	}
}
