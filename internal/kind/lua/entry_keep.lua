-- Releases a hold with an entry, of a lock that must stay taken for some time: the entry is replaced by another one,
-- which expires after that time. (See mutex_keep.)
--   KEYS[1]  the name
--   ARGV[1]  the time in milliseconds    ARGV[2]  the other entry
--   ARGV[3]  by how many milliseconds the other entry may outlive the hold's; negative: it ends earlier
--   ARGV[4]  the hold's entry
-- Returns 1: replaced, now or before. 0: the name does not have the hold.
local now = clock()
if redis.call('TYPE', KEYS[1])['ok'] ~= 'zset' then
	return 0
end
local result = 0
local kept = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[2]) or now)
if kept > now then
	if kept > now + ARGV[1] then
		put(KEYS[1], ARGV[2], now, ARGV[1])
	end
	result = 1
end
local left = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[4]) or now) - now
redis.call('ZREM', KEYS[1], ARGV[4])
if left > 0 then
	local ttl = math.min(ARGV[1], left + ARGV[3])
	if ttl > 0 then
		put(KEYS[1], ARGV[2], now, ttl)
	end
	result = 1
end
if result == 1 then
	endWithLast(KEYS[1])
end
return result
