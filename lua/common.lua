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

-- The fence of a name is a string: the largest token that was given out here; and behind a colon, if there is one, that
-- which the present owner of a reentrant lock has. A token is a whole number below 2^53; tostring would round it. What is written
-- in another way (tonumber would take '1e3', '0x10' and '-5') is somebody's who knows nothing of us.
local function fence(key)
	local last, owned = string.match(redis.call('GET', key) or '0', '^(%d+):?(%d*)$')
	last, owned = tonumber(last), tonumber(owned)
	if not last or math.max(last, owned or 0) >= 2^53 then
		error('WRONGTYPE ' .. key .. ' is no fence')
	end
	return last, owned
end

local function fenceText(last, owned)
	return string.format(owned and '%.0f:%.0f' or '%.0f', last, owned)
end

-- It is kept for as long as asked, or longer if somebody with a longer TTL asked for that.
local function setFence(key, last, owned, keep)
	keep = math.max(redis.call('PTTL', key), keep)
	redis.call('SET', key, fenceText(last, owned), 'PX', string.format('%.0f', keep))
end
