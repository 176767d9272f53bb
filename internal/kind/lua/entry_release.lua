-- Releases a lock with entries. If it was the last hold, publishes the release.
--   KEYS[1]  the name    KEYS[2]  its fence    KEYS[3]  the intents of its exclusive waiters
--   ARGV[1]  the kind: 'reader', 'writer' or 'reentrant'    ARGV[2]  the token
--   ARGV[3]  the channel on which to publish, or '' for none    ARGV[4]  the waiter's own intent, or ''
-- Returns 1 plus the number of subscribers that received the message: released. 0: not held with this token.
-- (holder and endWithLast would do the same with more commands.)
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
if ARGV[4] ~= '' then
	redis.call('ZREM', KEYS[3], ARGV[4])
end
if redis.call('TYPE', KEYS[1])['ok'] ~= 'zset' then
	return 0
end
local two = redis.call('ZRANGE', KEYS[1], -2, -1, 'WITHSCORES')
local last, lastEnds, restEnds = two[#two - 1], two[#two], two[#two - 2]
local kind, token = string.match(last, '^redlock:(%a+):(.*)$')
if tonumber(lastEnds) <= now then
	kind = nil
end
local was = ARGV[1]
if was == 'reader' and kind == 'writer' and token == ARGV[2] then
	was = 'writer' -- this master has not executed the downgrade
end
local own = 'redlock:' .. was .. ':' .. ARGV[2]
if kind ~= was then
	if kind == nil then -- an expired entry would be valid again if the clock were set back
		redis.call('ZREM', KEYS[1], own, 'redlock:writer:' .. ARGV[2])
	end
	return 0
end
local ends = lastEnds
if last == own then
	redis.call('ZREM', KEYS[1], own)
	if restEnds then
		redis.call('PEXPIREAT', KEYS[1], restEnds)
	end
else
	ends, restEnds = redis.call('ZSCORE', KEYS[1], own) or now, lastEnds
	redis.call('ZREM', KEYS[1], own)
end
if tonumber(ends) <= now then
	return 0
end
if ARGV[3] ~= '' and (not restEnds or tonumber(restEnds) <= now) then
	return 1 + (tonumber(redis.pcall('PUBLISH', ARGV[3], '')) or 0)
end
return 1
