-- Shared by the scripts that read or write fences.

-- A fencing token is a whole number below 2^53, since doubles are exact only up to that.
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

-- Raises the error for a counter that cannot grow. Only an operator can fix this: package node recognizes the error as
-- permanent by its first word.
local function usedUp(key)
	error('USEDUP the fencing tokens of ' .. key .. ' are used up: some client had a clock past the year 2255. ' ..
		'Set that clock, delete the key on every master, and reset the last token in the storage that checks it')
end

-- Returns the fence of a name: the largest fencing token that this master has granted and, if a reentrant lock has an
-- owner now, the owner's fencing token. The fence is a string, with a colon between the two numbers, and always has a
-- TTL. A string of another form belongs to another client. (Tokens are not written with tostring, which would round
-- them.)
local function fence(key)
	local last, owned = string.match(string.sub(redis.call('GET', key) or '0', 1, 64), '^(%d+):?(%d*)$')
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

-- Writes a fence with a TTL in milliseconds, or with the TTL that it has, if that is longer.
local function setFence(key, last, owned, keep)
	keep = math.max(redis.call('PTTL', key), keep)
	redis.call('SET', key, fenceText(last, owned), 'PX', string.format('%.0f', keep))
end
