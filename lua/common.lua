-- What the scripts begin with that look at locks of any kind.
--
-- A mutex is a string at the name, its value the token. Every other kind is a sorted set at the name: one entry per hold,
-- 'redlock:<kind>:<token>', scored by when it ends, in milliseconds by this master's clock. The entries are all of one
-- kind, and of one owner unless they are readers'; the key expires with the last of them. Anything else at the name is
-- somebody's who knows nothing of us, and is never touched.

local function clock()
	local t = redis.call('TIME')
	return t[1] * 1000 + math.floor(t[2] / 1000)
end

-- Returns who holds a key now: kind, token, and for how long (-1: for ever); of several entries that which ends last.
-- Returns nil if nobody does.
local function holder(key, now)
	local kind = redis.call('TYPE', key)['ok']
	if kind == 'none' then
		return nil
	end
	if kind == 'zset' then
		local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
		local ours, token = string.match(last[1], '^redlock:(%a+):(.*)$')
		if ours then
			local left = last[2] - now
			if left <= 0 then
				return nil
			end
			return ours, token, left
		end
	end
	local left = redis.call('PTTL', key)
	if kind == 'string' then
		return 'mutex', redis.call('GET', key), left
	end
	return kind, '', left
end

-- The fence of a name is a hash: 'last' is the largest token that was given out here; 'owned' is the one that the present
-- owner of a reentrant lock has. A token is a whole number below 2^53; tostring would round it.
local function fence(key)
	return tonumber(redis.call('HGET', key, 'last') or 0)
end

-- It is kept for as long as asked, or longer if somebody with a longer TTL asked for that.
local function setFence(key, field, f, keep)
	redis.call('HSET', key, field, string.format('%.0f', f))
	if redis.call('PTTL', key) < tonumber(keep) then
		redis.call('PEXPIRE', key, keep)
	end
end
