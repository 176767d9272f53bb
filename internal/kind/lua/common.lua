-- Shared by the scripts that read locks of any kind.
--
-- A mutex is a string at the name whose value is the token. Every other kind is a sorted set at the name, with one
-- entry for each hold: 'redlock:<kind>:<token>', scored by the time at which it expires, in milliseconds by this
-- master's clock. All entries that have not expired are of one kind. Those of a reentrant lock have one owner. Those of
-- a semaphore have one number of slots and different slots, and '<slots>:<slot>:' before the token. The key expires with
-- its last entry. Any other key at the name belongs to another program, and no script changes it.

local function clock()
	local t = redis.call('TIME')
	return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- Bounds what a script returns of a token. No token of a lock is longer: it has at most 4,096 bytes, with 'min-hold:'
-- and the slots before it. Values of other programs may be much longer.
local longestToken = 4200

-- Returns the kind and the token of an entry, cut to longestToken; nil for a member of another program. Patterns are
-- matched with the beginning of a member only: some Lua cannot match a long one.
local function parse(member)
	local kind, token = string.match(string.sub(member, 1, longestToken + 80), '^redlock:(%a+):(.*)$')
	if kind and #kind <= 64 then
		return kind, string.sub(token, 1, longestToken)
	end
end

-- Returns the beginning of a string value. The whole value may be so large that the master stalls while a script reads
-- it. A user without the right to GETRANGE must do that.
local function beginning(key)
	local text = redis.pcall('GETRANGE', key, '0', longestToken - 1)
	return type(text) == 'string' and text or string.sub(redis.call('GET', key), 1, longestToken)
end

-- Returns the holder of a key: its kind, its token, cut to longestToken, and its TTL in milliseconds (-1: the key has
-- none). Of several holders, returns the one with the longest TTL. Returns nil if nothing holds the key.
local function holder(key, now)
	local kind = redis.call('TYPE', key)['ok']
	if kind == 'none' then
		return nil
	end
	if kind == 'zset' then
		local last = redis.call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
		local ours, token = parse(last[1])
		if ours then
			local ttl = last[2] - now
			if ttl <= 0 then
				return nil
			end
			return ours, token, ttl
		end
	end
	local ttl = redis.call('PTTL', key)
	if kind == 'string' then
		return 'mutex', beginning(key), ttl
	end
	return kind, '', ttl
end
