-- Withdraws the intent of a waiter that gave up or acquired the lock.
--   KEYS     the keys of the names' intents
--   ARGV[1]  the intent    ARGV[2...]  the channels on which to publish, for the readers that the intent kept out, one
--   for each name; none: publish nothing
-- Returns 1 if the intent was removed, and 0 if there was none at any name or it had expired.
local now = clock()
local result = 0
for i = 1, #KEYS do
	redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
	if redis.call('ZREM', KEYS[i], ARGV[1]) == 1 then
		result = 1
		if ARGV[i + 1] and not redis.call('ZRANGE', KEYS[i], 0, 0)[1] then
			redis.pcall('PUBLISH', ARGV[i + 1], '')
		end
	end
end
return result
