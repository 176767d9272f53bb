package doctor

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/redlock-go/redlock/node"
)

const (
	maxKeys   = 10_000 // keys
	scanBatch = 500
	maxValue  = 300 // bytes of a string that are read
)

// tokenForm is the form of redlock's tokens: the owner, a colon, 16 random bytes in hexadecimal.
var tokenForm = regexp.MustCompile(`:[0-9a-f]{32}$`)

// entryForm is the form of an entry of a sorted set, which is every lock of redlock but a mutex.
var entryForm = regexp.MustCompile(`^redlock:(reader|writer|reentrant|semaphore):`)

// askKeys looks for locks among the keys of the master.
func (o *observer) askKeys() {
	cursor, seen := "0", 0
	for {
		reply, err := o.conn.Do(o.ctx, "scan", cursor, "count", scanBatch)
		if err != nil {
			o.note("SCAN", err)
			return
		}
		page, ok := reply.([]any)
		if !ok || len(page) != 2 {
			return
		}
		names, _ := page[1].([]any)
		if err := o.readKeys(names); err != nil {
			o.note("keys (PTTL, TYPE, GETRANGE, ZRANGE)", err)
			return
		}
		seen += len(names)
		cursor = fmt.Sprint(page[0])
		if cursor == "0" {
			return
		}
		if seen >= maxKeys {
			o.m.refused = append(o.m.refused, refusal{"all keys", fmt.Errorf("only the first %d were looked at", seen)})
			return
		}
	}
}

// readKeys reads TTL and type of the keys, and of those that may be locks the value or the last entry.
func (o *observer) readKeys(names []any) error {
	if len(names) == 0 {
		return nil
	}
	var questions [][]any
	for _, name := range names {
		questions = append(questions, []any{"pttl", name}, []any{"type", name})
	}
	answers := o.conn.DoAll(o.ctx, questions)
	var candidates []candidate
	var values [][]any
	for i, name := range names {
		ttl, kind := answers[2*i], answers[2*i+1]
		if err := firstError(ttl, kind); err != nil {
			return err
		}
		ms, _ := ttl.Reply.(int64)
		if ms == keyGone {
			continue
		}
		switch kind.Reply {
		case "string":
			values = append(values, []any{"getrange", name, 0, maxValue})
		case "zset":
			values = append(values, []any{"zrange", name, -1, -1})
		default:
			continue
		}
		candidates = append(candidates, candidate{fmt.Sprint(name), ms})
	}
	if len(values) == 0 {
		return nil
	}
	for i, answer := range o.conn.DoAll(o.ctx, values) {
		if answer.Err != nil && !strings.HasPrefix(answer.Err.Error(), "WRONGTYPE") { // it changed meanwhile
			return answer.Err
		}
		switch reply := answer.Reply.(type) {
		case string:
			o.m.keys.add(candidates[i], reply)
		case []any:
			if len(reply) == 1 && entryForm.MatchString(fmt.Sprint(reply[0])) {
				o.m.keys.addLock(candidates[i])
			}
		}
	}
	return nil
}

// candidate is a key that may be a lock.
type candidate struct {
	name string
	pttl int64 // milliseconds, or keyEndless
}

// The special replies of PTTL.
const (
	keyEndless = -1
	keyGone    = -2
)

// add notes a string key if it is, or looks like, a lock.
func (k *keys) add(c candidate, value string) {
	ours := tokenForm.MatchString(value)
	named := strings.Contains(strings.ToLower(c.name), "lock") && len(value) <= maxValue
	if ours || named && c.pttl == keyEndless {
		k.addLock(c)
	}
}

// addLock notes a lock.
func (k *keys) addLock(c candidate) {
	if c.pttl == keyEndless {
		k.endless = append(k.endless, strconv.Quote(c.name))
	}
	if ttl := milliseconds(c.pttl); ttl > k.longest {
		k.longest, k.longestKey = ttl, strconv.Quote(c.name)
	}
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func firstError(answers ...node.Answer) error {
	for _, a := range answers {
		if a.Err != nil {
			return a.Err
		}
	}
	return nil
}
