-- What the scripts of the kinds with entries share beyond that. Their first arguments are always the same:
--   KEYS[1]  the name    KEYS[2]  its fence    KEYS[3]  the intents of its exclusive waiters, scored like entries
--   ARGV[1]  the kind: 'reader', 'writer' or 'reentrant'    ARGV[2]  the token

local function entry(kind)
	return 'redlock:' .. kind .. ':' .. ARGV[2]
end

-- A token is its owner, a colon, and 32 digits.
local function owner(token)
	return string.sub(token, 1, -34)
end

-- May a hold stand beside those that are there?
local function admitted(kind, token)
	return kind == nil or (kind == ARGV[1] and
		(kind == 'reader' or (kind == 'reentrant' and owner(token) == owner(ARGV[2]))))
end

-- Is this very hold there?
local function held(kind, now)
	local ends = kind and kind == ARGV[1] and redis.call('ZSCORE', KEYS[1], entry(kind))
	return ends and tonumber(ends) > now
end

-- Returns how much longer an exclusive waiter keeps new readers out; 0 if none does.
local function intent(now)
	local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
	return math.max(0, (last[2] or now) - now)
end

-- Raises the fence to a token, if it is not larger. The token becomes the owner's, unless others came between.
local function raise(token, keep)
	local last, owned = fence(KEYS[2])
	local f = math.max(last, token)
	if ARGV[1] == 'reentrant' and f == token then
		owned = f
	end
	setFence(KEYS[2], f, owned, keep)
	return f
end

-- What an earlier owner had is not the next one's. The fence keeps the TTL that it has; one without gets that of a new
-- fence.
local function disown(kind, keep)
	if kind == nil and ARGV[1] == 'reentrant' then
		local last, owned = fence(KEYS[2])
		if owned then
			local left = redis.call('PTTL', KEYS[2])
			if left > 0 then
				keep = string.format('%.0f', left)
			end
			redis.call('SET', KEYS[2], fenceText(last), 'PX', keep)
		end
	end
end
