-- Releases a lock with entries. If it was the last hold, publishes the release.
--   KEYS[1]  the name
--   ARGV[1]  the hold's entry    ARGV[2]  the channel on which to publish, or '' for none
-- Returns 1 plus the number of subscribers that received the message: released. 0: the name does not have the entry, or
-- the entry had expired, and it is removed.
-- (holder and endWithLast would do the same with more commands.)
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local two = redis.pcall('ZRANGE', KEYS[1], '0', '1', 'REV', 'WITHSCORES')
if two['err'] and not string.find(two['err'], 'WRONGTYPE') then
	return two
end
local last, lastEnds, restEnds = two[1], two[2], two[4]
if not last then
	return 0
end
local own, left = ARGV[1], lastEnds - now
if left <= 0 then -- an expired entry would be valid again if the clock were set back
	redis.call('ZREM', KEYS[1], own)
	return 0
end
if last ~= own then
	left, restEnds = (redis.call('ZSCORE', KEYS[1], own) or now) - now, lastEnds
end
redis.call('ZREM', KEYS[1], own)
if last == own and restEnds then
	redis.call('PEXPIREAT', KEYS[1], restEnds)
end
if left <= 0 then
	return 0
end
if ARGV[2] ~= '' and (not restEnds or tonumber(restEnds) <= now) then
	return 1 + (tonumber(redis.pcall('PUBLISH', ARGV[2], '')) or 0)
end
return 1
