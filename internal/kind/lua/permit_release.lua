-- Releases a permit of a semaphore, and publishes its slot.
--   KEYS[1]  the name
--   ARGV[1]  the permit's entry    ARGV[2]  the channel on which to publish, or '' for none    ARGV[3]  the slot
-- Returns 1 plus the number of subscribers that received the message: released. 0: the permit was not held.
local now = clock()
if redis.call('TYPE', KEYS[1])['ok'] ~= 'zset' then
	return 0
end
local ends = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or now)
redis.call('ZREM', KEYS[1], ARGV[1]) -- also if it has expired: it would be valid again if the clock were set back
endWithLast(KEYS[1])
if ends <= now then
	return 0
end
if ARGV[2] ~= '' then
	return 1 + (tonumber(redis.pcall('PUBLISH', ARGV[2], ARGV[3])) or 0)
end
return 1
