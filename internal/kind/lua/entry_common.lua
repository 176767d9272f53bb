-- Shared by the scripts of the kinds with entries. Their first arguments are always the same:
--   KEYS[1]  the name    KEYS[2]  its fence    KEYS[3]  the intents of its exclusive waiters, scored like entries
--   ARGV[1]  the kind: 'reader', 'writer' or 'reentrant'    ARGV[2]  the token

local function entry(kind)
	return 'redlock:' .. kind .. ':' .. ARGV[2]
end

-- Returns the owner of a token, which is followed by a colon and 32 digits. During the minimum hold of a lock that was
-- released, 'min-hold:' precedes the owner, who may lock again.
local function owner(token)
	return (string.gsub(string.sub(token, 1, -34), '^min%-hold:', ''))
end

-- Reports whether the name can have another hold of this kind, given its holder.
local function admitted(kind, token)
	return kind == nil or (kind == ARGV[1] and
		(sharedByAll(kind) or (sharedByOwner(kind) and owner(token) == owner(ARGV[2]))))
end

-- Reports whether the name has the hold with this token, given the kind of its holder.
local function held(kind, now)
	local ends = kind and kind == ARGV[1] and redis.call('ZSCORE', KEYS[1], entry(kind))
	return ends and tonumber(ends) > now
end

-- Returns for how many milliseconds an exclusive waiter keeps new readers out; 0 if none does.
local function intent(now)
	local last = redis.call('ZRANGE', KEYS[3], '-1', '-1', 'WITHSCORES')
	return math.max(0, (last[2] or now) - now)
end
