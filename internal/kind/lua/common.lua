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

-- Returns the holder of a key: its kind, its token and its TTL in milliseconds (-1: the key has none). Of several
-- holders, returns the one with the longest TTL. Returns nil if nothing holds the key.
local function holder(key, now)
	local kind = redis.call('TYPE', key)['ok']
	if kind == 'none' then
		return nil
	end
	if kind == 'zset' then
		local last = redis.call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
		local ours, token = string.match(last[1], '^redlock:(%a+):(.*)$')
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
		-- A foreign value may be large. No token is.
		return 'mutex', string.sub(redis.call('GET', key), 1, 65536), ttl
	end
	return kind, '', ttl
end
