package broken

import "strings"

// raiseUnseen raises the counter whether or not the master holds the token.
func raiseUnseen(name, text string) string {
	switch name {
	case "mutex_raise":
		return replace(text, "held ~= ARGV[1]", "false")
	case "entry_raise":
		return replace(text, "not held(holder(KEYS[1], now), now)", "false")
	}
	return text
}

// reuseCount gives every reader the present count, even if no other reader is there.
func reuseCount(name, text string) string {
	if name == "entry_acquire" {
		return replace(text, "elseif sharedByAll(kind) and last > 0", "elseif ARGV[1] == 'reader' and last > 0")
	}
	return text
}

// raiseInner gives each hold of an owner its own fencing token.
func raiseInner(name, text string) string {
	if name == "entry_acquire" {
		return replace(text, "if sharedByOwner(kind) and owned then", "if false then")
	}
	return text
}

// forgetHint makes the first fencing token of a name 1. It should be the time.
func forgetHint(name, text string) string {
	switch name {
	case "mutex_fenced":
		text = replace(text, "redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])", "false")
		return replace(text, "f = hint", "f = 1")
	case "mutex_acquire":
		return replace(text, "f = hint", "f = 1")
	case "entry_acquire":
		return replace(text, "nextToken(KEYS[2], last, hint)", "last + 1")
	}
	return text
}

// fenceOne gives every mutex the fencing token 1.
func fenceOne(name, text string) string {
	switch name {
	case "mutex_fenced", "mutex_acquire":
		return replace(forgetHint(name, text), "f = nextToken(KEYS[i], fence(KEYS[i]), f)", "f = 1")
	}
	return text
}

// dropExpiry sets counters without a TTL.
func dropExpiry(_, text string) string {
	return strings.NewReplacer(
		", 'PX', string.format('%.0f', keep)", "",
		"fenceText(f), 'PX', ARGV[4]", "fenceText(f)",
		"KEYS[2], ARGV[3], 'PX', ARGV[4]", "KEYS[2], ARGV[3]",
	).Replace(text)
}

// lockFirst acquires a lock of several names in the first name only.
func lockFirst(name, text string) string {
	if name == "mutex_acquire" {
		return replace(text, "for i = 1, n do\n\tredis.call('SET'", "for i = 1, 1 do\n\tredis.call('SET'")
	}
	return text
}

// keepIntents posts intents that outlive their writer.
func keepIntents(name, text string) string {
	if name == "entry_probe" {
		return replace(text, "now, ARGV[4])", "now, 1000 * ARGV[4])")
	}
	return text
}

// dropWriter removes the writer in a downgrade, and adds no reader.
func dropWriter(name, text string) string {
	if name == "entry_extend" {
		return replace(text, "redis.pcall('PUBLISH', ARGV[6], '')", "do return 1 end")
	}
	return text
}

// admitReaders grants readers while a writer holds the name.
func admitReaders(name, text string) string {
	if name == "entry_acquire" {
		return replace(text, "if not admitted(kind, token) then",
			"if not admitted(kind, token) and not (ARGV[1] == 'reader' and kind == 'writer') then")
	}
	return text
}

// forgetIntents posts no intent for a waiting writer.
func forgetIntents(name, text string) string {
	switch name {
	case "entry_probe":
		return replace(text, "if ARGV[3] ~= '' and", "if false and")
	case "mutex_probe":
		return replace(text, "if kind == 'reader' and ARGV[1] ~= '' then", "if false then")
	}
	return text
}

// withdrawAll withdraws the intents of all waiters with that of one.
func withdrawAll(name, text string) string {
	if name == "withdraw" {
		return replace(text, "redis.call('ZREM', KEYS[i], ARGV[1])", "redis.call('DEL', KEYS[i])")
	}
	return text
}

// shareFences takes fencing tokens for permits as they come, whichever slot they are for.
func shareFences(name, text string) string {
	if name == "permit_acquire" {
		return replace(text, "if past > 0 then", "if false then")
	}
	return text
}

// countPermits admits as many holders as there are slots, also in a slot that is taken.
func countPermits(name, text string) string {
	switch name {
	case "permit_acquire":
		return replace(text, "if taken[slot] then",
			"if redis.call('ZCOUNT', KEYS[1], '(' .. now, '+inf') >= tonumber(ARGV[1]) then")
	case "permit_extend":
		return replace(text, "if not taken or (taken[slot] and taken[slot] ~= permit) then", "if not taken then")
	}
	return text
}

// keepPermits confirms the release of a permit, and does not remove it.
func keepPermits(name, text string) string {
	if name == "permit_release" {
		return replace(text, "redis.call('ZREM', KEYS[1], ARGV[1])", "do return 1 end")
	}
	return text
}

// ignoreSlots admits holders with different numbers of slots at the same time.
func ignoreSlots(name, text string) string {
	if strings.HasPrefix(name, "permit_") {
		return strings.Replace(text, "if slots ~= ARGV[1] then", "if not slots then", 1)
	}
	return text
}

// freeKept deletes the keys of a lock that must stay taken for some time.
func freeKept(name, text string) string {
	if name == "mutex_keep" {
		return replace(text, "if ttl > 0 then", "if false then")
	}
	return freeKeptEntries(name, text)
}

// freeKeptEntries deletes the entries of a lock that must stay taken for some time.
func freeKeptEntries(name, text string) string {
	if name == "entry_keep" {
		return replace(text, "if ttl > 0 then", "if false then")
	}
	return text
}

// extendUnfenced does not restore a missing counter in an extension.
func extendUnfenced(name, text string) string {
	if name == "mutex_extend" || name == "entry_extend" {
		return replace(text, "ARGV[4] ~= '' and fencingToken(ARGV[4])", "false")
	}
	return text
}

// expireTogether extends all readers whenever one acquires or extends.
func expireTogether(name, text string) string {
	if strings.HasPrefix(name, "entry_") && name != "entry_release" {
		const one = "redis.call('ZADD', key, now + ttl, member)"
		return replace(text, one, one+`
	if key == KEYS[1] and ARGV[1] == 'reader' then
		for _, other in ipairs(redis.call('ZRANGE', key, 0, -1)) do
			redis.call('ZADD', key, now + ttl, other)
		end
	end`)
	}
	return text
}

// replace replaces the one occurrence of old in a script. It panics if there is not exactly one.
func replace(text, old, by string) string {
	if strings.Count(text, old) != 1 {
		panic("the script has changed: " + old)
	}
	return strings.Replace(text, old, by, 1)
}

// skipTokenCheck releases and extends the lock of any holder.
func skipTokenCheck(name, text string) string {
	switch name {
	case "mutex_release":
		return replace(text, "if held == ARGV[1] then", "if type(held) == 'string' then")
	case "mutex_extend":
		return replace(text, "elseif held ~= ARGV[1] then", "elseif type(held) == 'table' then")
	case "entry_release":
		const unpack = "local own, left = ARGV[1], lastEnds - now"
		return replace(text, unpack, "redis.call('DEL', KEYS[1])\n"+unpack)
	}
	return text
}
