package broken

import (
	"slices"
	"strings"

	"github.com/redlock-go/redlock/internal/seam"
)

// An edit replaces the one occurrence of old in each of the scripts, whose names are separated by spaces. Without
// scripts it is an edit of all that have old.
type edit struct{ scripts, old, by string }

func (e edit) apply(name, text string) string {
	switch {
	case e.scripts == "":
		return strings.ReplaceAll(text, e.old, e.by)
	case !slices.Contains(strings.Fields(e.scripts), name):
		return text
	case strings.Count(text, e.old) != 1:
		panic("the script " + name + " has changed: " + e.old)
	default:
		return strings.Replace(text, e.old, e.by, 1)
	}
}

func rewritten(name string, edits ...edit) Lock {
	return with(name, Hooks(seam.Hooks{Script: func(script, text string) string {
		for _, e := range edits {
			text = e.apply(script, text)
		}
		return text
	}}))
}

// The first fencing token of a name is 1. It should be the time.
var (
	noMutexHint = edit{
		"mutex_fenced", "redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])", "false",
	}
	fromOne = edit{"mutex_fenced mutex_acquire", "f = hint", "f = 1"}
)

// rewrittenLocks have rewritten scripts.
var rewrittenLocks = []Lock{
	// A release or an extension of the lock of any holder succeeds.
	rewritten("no token compared",
		edit{"mutex_release", "if held == ARGV[1] then", "if type(held) == 'string' then"},
		edit{"mutex_extend", "elseif held ~= ARGV[1] then", "elseif type(held) == 'table' then"},
		edit{
			"entry_release", "local own, left = ARGV[1], lastEnds - now",
			"redis.call('DEL', KEYS[1])\nlocal own, left = ARGV[1], lastEnds - now",
		}),
	// The key has no TTL.
	rewritten("lock without a TTL",
		edit{"mutex_fenced", "ARGV[1], 'NX', 'PX', ARGV[2])", "ARGV[1], 'NX')"},
		edit{"mutex_acquire", "redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])", "redis.call('SET', KEYS[i], ARGV[1])"}),
	// The counter rises whether or not the master holds the token.
	rewritten("fence raised without a token check",
		edit{"mutex_raise", "held ~= ARGV[1]", "false"},
		edit{"entry_raise", "not held(holder(KEYS[1], now), now)", "false"}),
	rewritten("fence counted from one",
		noMutexHint, fromOne, edit{"entry_acquire", "nextToken(KEYS[2], last, hint)", "last + 1"}),
	// Every mutex gets the fencing token 1.
	rewritten("fence that is always 1", always1...),
	rewritten("election without fencing", always1...),
	rewritten("new fence for each nested hold",
		edit{"entry_acquire", "if sharedByOwner(kind) and owned then", "if false then"}),
	rewritten("counters that never expire",
		edit{"", ", 'PX', string.format('%.0f', keep)", ""},
		edit{"", "fenceText(f), 'PX', ARGV[4]", "fenceText(f)"},
		edit{"", "KEYS[2], ARGV[3], 'PX', ARGV[4]", "KEYS[2], ARGV[3]"}),
	// All readers are extended whenever one acquires or extends.
	rewritten("one expiry for all readers",
		edit{
			"entry_acquire entry_raise entry_extend entry_keep entry_probe", "redis.call('ZADD', key, now + ttl, member)",
			`redis.call('ZADD', key, now + ttl, member)
	if key == KEYS[1] and ARGV[1] == 'reader' then
		for _, other in ipairs(redis.call('ZRANGE', key, 0, -1)) do
			redis.call('ZADD', key, now + ttl, other)
		end
	end`,
		}),
	rewritten("readers admitted despite a writer",
		edit{
			"entry_acquire", "if not admitted(kind, token) then",
			"if not admitted(kind, token) and not (ARGV[1] == 'reader' and kind == 'writer') then",
		}),
	rewritten("first of several names only",
		edit{"mutex_acquire", "for i = 1, n do\n\tredis.call('SET'", "for i = 1, 1 do\n\tredis.call('SET'"}),
	rewritten("job lock deleted at its end", mutexNotKept, entryNotKept),
	rewritten("minimum hold of mutexes only", entryNotKept),
	rewritten("permits kept until their TTL", permitNotReleased),
	rewritten("slots counted by each master", countSlots...),
	rewritten("one slot for two permits", countSlots...),
	rewritten("number of slots not compared", edit{"", "if slots ~= ARGV[1] then", "if not slots then"}),
}

// A minimum hold ends with the lock.
var (
	mutexNotKept = edit{"mutex_keep", "'SET', KEYS[i], ARGV[3], 'PX', ARGV[2]", "'DEL', KEYS[i]"}
	entryNotKept = edit{"entry_keep", "put(KEYS[1], ARGV[2], now, ARGV[1])", "endWithLast(KEYS[1])"}
)

// The release of a permit is confirmed, and does not remove it.
var permitNotReleased = edit{"permit_release", "redis.call('ZREM', KEYS[1], ARGV[1])", "do return 1 end"}

var always1 = []edit{
	noMutexHint, fromOne, {"mutex_fenced mutex_acquire", "f = nextToken(KEYS[i], fence(KEYS[i]), f)", "f = 1"},
}

// As many holders as there are slots are admitted, also in a slot that is taken.
var countSlots = []edit{
	{
		"permit_acquire", "if taken[slot] then",
		"if redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf') >= tonumber(ARGV[1]) then",
	},
	{"permit_extend", "if not taken or (taken[slot] and taken[slot] ~= permit) then", "if not taken then"},
}
