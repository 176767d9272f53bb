package doctor

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/internal/replyerr"
)

const (
	maxKeys   = 10_000
	maxPages  = 1_000 // of SCAN; after many deletions most are empty
	scanBatch = 500
	maxValue  = 1_100 // bytes of a string that are read: more than the longest token
)

// tokenForm is the form of redlock's tokens: the owner, a colon, 16 random bytes in hexadecimal.
var tokenForm = regexp.MustCompile(`:[0-9a-f]{32}$`)

// entryForm is the form of an entry of a sorted set, which is every lock of redlock but a mutex.
var entryForm = regexp.MustCompile(`^redlock:(reader|writer|reentrant|semaphore):`)

// askKeys looks for locks among the keys of the master, in one round trip per page: with the next page, it asks for the
// TTLs and types of the last one, and for the values of the one before. It ends with the span, after one page at least.
func (o *observer) askKeys(a *asker) error {
	o.m.keys = keys{}
	cursor, pages := "0", 0
	var page []any
	var candidates []candidate
	for {
		var commands [][]any
		for _, c := range candidates {
			commands = append(commands, c.value())
		}
		for _, name := range page {
			commands = append(commands, []any{"PTTL", name}, []any{"TYPE", name})
		}
		o.m.keys.more = o.m.keys.seen >= maxKeys || pages >= maxPages || pages > 0 && !o.clock.Now().Before(o.end)
		scanning := cursor != "" && !o.m.keys.more
		if scanning {
			commands = append(commands, []any{"SCAN", cursor, "COUNT", scanBatch})
		}
		if len(commands) == 0 {
			o.m.keys.more = cursor != ""
			return nil
		}
		answers := a.conn.DoAll(a.ctx, commands)
		for i, answer := range answers {
			switch err := answer.Err; {
			case err == nil, replyerr.Is(err) && strings.HasPrefix(err.Error(), "WRONGTYPE"): // it changed meanwhile
			case replyerr.Is(err) && !dismissal(err):
				a.refused = append(a.refused, refusal{fmt.Sprint(commands[i][0]), err})
				return nil
			default:
				return err
			}
		}
		for i, c := range candidates {
			o.m.keys.read(c, answers[i].Reply)
		}
		answers = answers[len(candidates):]
		candidates = candidates[:0]
		for i, name := range page {
			ttl, _ := answers[2*i].Reply.(int64)
			c := candidate{fmt.Sprint(name), ttl, fmt.Sprint(answers[2*i+1].Reply)}
			if ttl != keyGone && c.value() != nil {
				candidates = append(candidates, c)
			}
		}
		if page = nil; scanning {
			reply, _ := answers[len(answers)-1].Reply.([]any)
			if len(reply) != 2 {
				return nil
			}
			page, _ = reply[1].([]any)
			pages++
			o.m.keys.seen += len(page)
			if cursor = fmt.Sprint(reply[0]); cursor == "0" {
				cursor = ""
			}
		}
	}
}

// candidate is a key that may be a lock.
type candidate struct {
	name string
	pttl int64  // milliseconds, or keyEndless
	kind string // the type
}

// value returns the command that reads the value or the last entry; nil if a key of this type is no lock.
func (c candidate) value() []any {
	switch c.kind {
	case "string":
		return []any{"GETRANGE", c.name, 0, maxValue}
	case "zset":
		return []any{"ZRANGE", c.name, -1, -1}
	default:
		return nil
	}
}

// The special replies of PTTL.
const (
	keyEndless = -1
	keyGone    = -2
)

// read notes a key if its value is that of a lock. A value of another program may look like a token.
func (k *keys) read(c candidate, value any) {
	switch value := value.(type) {
	case string:
		if tokenForm.MatchString(value) {
			k.addLock(c, &k.likeLock)
		}
	case []any:
		if len(value) == 1 && entryForm.MatchString(fmt.Sprint(value[0])) {
			k.addLock(c, &k.lock)
		}
	}
}

// addLock notes a lock, or what looks like one.
func (k *keys) addLock(c candidate, longest *timedKey) {
	// SCAN may return a key twice while Redis moves its keys into a larger table.
	if name := strconv.Quote(c.name); c.pttl == keyEndless && !k.listed[name] {
		if k.listed == nil {
			k.listed = make(map[string]bool)
		}
		k.listed[name] = true
		k.endless = append(k.endless, name)
	}
	if ttl := milliseconds(c.pttl); ttl > longest.left {
		*longest = timedKey{strconv.Quote(c.name), ttl}
	}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
