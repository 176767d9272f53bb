-- Releases a permit of a semaphore, and publishes its slot.
--   KEYS[1]  the name
--   ARGV[1]  the permit's entry    ARGV[2]  the channel on which to publish, or '' for none    ARGV[3]  the slot
-- Returns 1 plus the number of subscribers that received the message: released. 0: the permit was not held.
local ends = redis.pcall('ZSCORE', KEYS[1], ARGV[1])
if type(ends) == 'table' then
	if string.find(ends['err'], 'WRONGTYPE') then
		return 0
	end
	return ends
end
if not ends then
	return 0
end
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
ends = tonumber(ends)
redis.call('ZREM', KEYS[1], ARGV[1]) -- also if it has expired: it would be valid again if the clock were set back
local last = redis.call('ZRANGE', KEYS[1], '-1', '-1', 'WITHSCORES')[2]
if last and tonumber(last) < ends then -- the key expires with its last entry
	redis.call('PEXPIREAT', KEYS[1], last)
end
if ends <= now then
	return 0
end
if ARGV[2] ~= '' then
	return 1 + (tonumber(redis.pcall('PUBLISH', ARGV[2], ARGV[3])) or 0)
end
return 1
