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
		return 'mutex', string.sub(redis.call('GET', key), 1, 65536), left -- a foreign value may be large; no token is
	end
	return kind, '', left
end

-- A fencing token is a whole number below 2^53: doubles are exact only up to that.
local limit = 2^53

-- Returns the value of a string of digits, at most the limit: not every Lua can convert a long string.
local function number(digits)
	return #digits > 16 and limit or math.min(tonumber(digits), limit)
end

-- Converts an argument to a fencing token. If it is not one, raises an error, before the script changes anything.
-- (tonumber alone would accept '1e3', '0x10' and '-5'.)
local function fencingToken(text)
	local n = string.find(text, '^%d+$') and number(text) or limit
	if n >= limit then
		error('ERR ' .. text .. ' is no fencing token: it must be a whole number below 2^53; ' ..
			'check the clock of the client')
	end
	return n
end

-- Only an operator can fix this: package node takes the error for permanent by how its text begins.
local function usedUp(key)
	error('USEDUP the fencing tokens of ' .. key .. ' are used up: some client had a clock past the year 2255. ' ..
		'Set that clock, delete the key on every master, and reset the last token in the storage that checks it')
end

-- The fence of a name is a string: the largest token that this master has granted, and, after a colon, the token of the
-- present owner of a reentrant lock, if there is one. A fence always has a TTL. A string of another form belongs to
-- another client. (Tokens are not written with tostring, which would round them.)
local function fence(key)
	local last, owned = string.match(redis.call('GET', key) or '0', '^(%d+):?(%d*)$')
	if not last then
		error('WRONGTYPE ' .. key .. ' is no fence')
	end
	last, owned = number(last), owned ~= '' and number(owned) or nil
	if math.max(last, owned or 0) >= limit then
		usedUp(key)
	end
	return last, owned
end

-- Returns the next token after the last one: at least the hint.
local function nextToken(key, last, hint)
	local n = math.max(last + 1, hint)
	if n >= limit then
		usedUp(key)
	end
	return n
end

local function fenceText(last, owned)
	return string.format(owned and '%.0f:%.0f' or '%.0f', last, owned)
end

-- Writes a fence and keeps it for so many milliseconds, or longer if it was to be kept longer.
local function setFence(key, last, owned, keep)
	keep = math.max(redis.call('PTTL', key), keep)
	redis.call('SET', key, fenceText(last, owned), 'PX', string.format('%.0f', keep))
end
