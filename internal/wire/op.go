package wire

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/hex"
	"math"
	"sync/atomic"
	"time"

	"github.com/redlock-go/redlock/internal/resp"
)

// Op is one operation on a master: a command or a script, and a function that reads its reply. It is immutable, and may
// be submitted to any number of nodes at once, which share its encoding.
type Op struct {
	// Name is the operation's name in errors and traces: "acquire", "raise", "extend", "release", "probe", "withdraw",
	// "announce", "inspect", "status".
	Name string
	// Lock is the name of the lock that the operation concerns, for traces; "" if there is none.
	Lock string
	// Origin is the call that the operation belongs to, for traces; nil if it is unknown.
	Origin      *Origin
	read        func(reply any) Vote
	out         []byte  // the encoded command; EVALSHA for a script
	script      *Script // nil for a command
	afterDigest int     // the index in out of the arguments after the digest
	undo        *Script // the script that undoes the operation; nil: none is known
	// anyRole is set if a server that is no master may be asked.
	anyRole bool
}

// Origin is the call that an operation belongs to.
type Origin struct {
	// Context has the values of the caller's context.
	Context context.Context
	// ID identifies the acquisition and the hold that it leads to; 0 if there is none.
	ID uint64
	// Kind is the kind of lock; "" if there is none.
	Kind string
	// Fencing reports whether the lock has a fencing token.
	Fencing bool
}

// Command returns an Op of one Redis command. read turns its reply (nil for a null reply) into a Vote. A nil read
// follows the convention of SET NX: OK is a grant, null is a denial, and any other reply is malformed. Arguments are of
// type string, []byte, int or int64; Command panics for others.
func Command(name string, read func(reply any) Vote, args ...any) *Op {
	if read == nil {
		read = readSet
	}
	o := newOp(name, read, resp.Size(args))
	o.out = resp.AppendCommand(o.out, args)
	return o
}

// Script is a Lua script.
type Script struct {
	text, sha string
	undoes    atomic.Bool // it undoes some operation
}

// NewScript returns a script with that text, and computes its SHA-1.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{text: text, sha: hex.EncodeToString(sum[:])}
}

// Op returns an operation that runs the script. A node sends it as EVALSHA, and again with the text of the script to a
// master that does not know the script. A nil read is [ReadNumber]. For the arguments, see [Command].
func (s *Script) Op(name string, read func(reply any) Vote, keys []string, args ...any) *Op {
	if read == nil {
		read = ReadNumber
	}
	o := newOp(name, read, s.size(keys, args))
	out := append(resp.AppendHead(o.out, 3+len(keys)+len(args)), evalsha...)
	out = resp.AppendString(out, s.sha)
	afterDigest := len(out)
	out = resp.AppendInt(out, int64(len(keys)))
	for _, k := range keys {
		out = resp.AppendString(out, k)
	}
	o.out, o.script, o.afterDigest = resp.AppendArgs(out, args), s, afterDigest
	return o
}

// Arguments returns the command of the operation, with the text of its script.
func (o *Op) Arguments() []any {
	encoded := o.out
	if o.script != nil {
		encoded = o.text()
	}
	return resp.Commands(encoded)[0]
}

// size returns an upper bound of the encoded size of the operation with the digest.
func (s *Script) size(keys []string, args []any) int {
	n := len(evalsha) + len(s.sha) + 32 + resp.Size(args)
	for _, k := range keys {
		n += len(k) + 10
	}
	return n
}

// newOp returns an operation with room for a command of that size. The room of most commands is in the same allocation:
// of a SET, or of a script with few arguments.
func newOp(name string, read func(reply any) Vote, size int) (o *Op) {
	const short, medium = 184, 280 // with the Op, they fill the allocator's size classes of 288 and 384 bytes
	switch {
	case size <= short:
		m := new(struct {
			Op
			room [short]byte
		})
		o, m.out = &m.Op, m.room[:0]
	case size <= medium:
		m := new(struct {
			Op
			room [medium]byte
		})
		o, m.out = &m.Op, m.room[:0]
	default:
		o = &Op{out: make([]byte, 0, size)}
	}
	o.Name, o.read = name, read
	return o
}

const evalsha = "$7\r\nevalsha\r\n"

// About sets the lock that a new operation concerns, and returns the operation.
func (o *Op) About(lock string) *Op {
	o.Lock = lock
	return o
}

// From sets the call that a new operation belongs to, and returns the operation. origin may be nil.
func (o *Op) From(origin *Origin) *Op {
	o.Origin = origin
	return o
}

// UndoneBy sets the script that undoes o, and returns o. A node does not send o to a master that is known to refuse the
// script. UndoneBy may only be called before o is submitted.
func (o *Op) UndoneBy(s *Script) *Op {
	if !s.undoes.Load() { // storing each time would make all callers contend for the cache line
		s.undoes.Store(true)
	}
	o.undo = s
	return o
}

// text returns the encoded command for a master that does not know the script.
func (o *Op) text() []byte {
	head := o.out[:bytes.IndexByte(o.out, '\n')+1] // the number of arguments does not change
	b := append(make([]byte, 0, len(o.out)+len(o.script.text)+16), head...)
	b = resp.AppendString(resp.AppendString(b, "eval"), o.script.text)
	return append(b, o.out[o.afterDigest:]...)
}

func readSet(reply any) Vote {
	switch reply {
	case nil:
		return Vote{Verdict: Denied}
	case "OK":
		return grant()
	default:
		return BadReply(reply)
	}
}

// replyHealed is the reply of a script that denies because its key was missing, and has set the key again.
const replyHealed = -1

// ReadNumber reads a script's integer reply n:
//
//   - n > 0: a grant with the number n;
//   - 0: a denial;
//   - -1: a denial that healed the key;
//   - n < -1: a denial; the holder's key lives on for -n-1 milliseconds.
//
// Any other reply is malformed, and so is a number of 2^53 or above, which scripts cannot compute exactly.
func ReadNumber(reply any) Vote {
	n, ok := reply.(int64)
	switch {
	case !ok, n >= 1<<53, n <= -1<<53:
		return BadReply(reply)
	case n > 0:
		return Vote{Verdict: Granted, Number: n}
	case n == 0:
		return Vote{Verdict: Denied}
	case n == replyHealed:
		return Vote{Verdict: Denied, Healed: true}
	default:
		return Vote{Verdict: Denied, Wait: milliseconds(-n - 1)}
	}
}

// milliseconds returns n milliseconds, with n > 0, or the longest duration if that is shorter.
func milliseconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
}
