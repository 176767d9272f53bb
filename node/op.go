package node

import (
	"crypto/sha1"
	"encoding/hex"
	"time"
)

// Op is one operation on a master: a command or a script, and how its reply is read. It is immutable and may be
// submitted to any number of nodes at once; they share its arguments.
type Op struct {
	// Name is what errors and traces call it: "acquire", "raise", "extend", "release", "look", "leave", "inspect", "status".
	Name string
	read func(reply any) Vote
	args []any // as they go out, EVALSHA for a script
	eval []any // the same with the script's text, for a master that does not know it; nil for a command
}

// Command makes an Op of one Redis command. read turns its reply (nil for a null reply) into a Vote; nil takes the
// convention of SET NX: any reply is a grant, null is a denial.
func Command(name string, read func(reply any) Vote, args ...any) *Op {
	if read == nil {
		read = readSet
	}
	return &Op{Name: name, read: read, args: args}
}

// Script is a Lua script.
type Script struct {
	text, sha string
}

// NewScript prepares a script. Its SHA-1 is taken from the text.
func NewScript(text string) *Script {
	sum := sha1.Sum([]byte(text))
	return &Script{text: text, sha: hex.EncodeToString(sum[:])}
}

// Op makes an operation of the script. It goes out as EVALSHA; a master that does not know the script (it is new there,
// or SCRIPT FLUSH came between) gets its text right after. read nil takes the convention of [ReadNumber].
func (s *Script) Op(name string, read func(reply any) Vote, keys []string, args ...any) *Op {
	if read == nil {
		read = ReadNumber
	}
	out := make([]any, 0, 3+len(keys)+len(args))
	out = append(out, "evalsha", s.sha, len(keys))
	for _, k := range keys {
		out = append(out, k)
	}
	out = append(out, args...)
	return &Op{Name: name, read: read, args: out, eval: []any{"eval", s.text}}
}

// text is the operation as it goes out to a master that does not know the script.
func (o *Op) text() []any {
	return append(o.eval[:2:2], o.args[2:]...)
}

func readSet(reply any) Vote {
	if reply == nil {
		return Vote{Verdict: Denied}
	}
	return grant()
}

// The replies of our scripts: a number above zero is a grant and carries the number; zero is a denial; Healed is a
// denial that set the missing key again; a number below that is a denial, and says when to come back.
const replyHealed = -1

// ReadNumber reads a script's integer reply: n > 0 is a grant with the number n; 0 is a denial; -1 is a denial that
// healed the key; n < -1 is a denial whose holder's key lives on for -n-1 milliseconds.
func ReadNumber(reply any) Vote {
	n, ok := reply.(int64)
	switch {
	case !ok:
		return badReply(reply)
	case n > 0:
		return Vote{Verdict: Granted, Number: n}
	case n == 0:
		return Vote{Verdict: Denied}
	case n == replyHealed:
		return Vote{Verdict: Denied, Healed: true}
	default:
		return Vote{Verdict: Denied, Wait: time.Duration(-n-1) * time.Millisecond}
	}
}
