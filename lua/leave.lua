-- Takes back the intent of a waiter that gave up or has the lock.
--   KEYS     where the intents of the names are
--   ARGV[1]  the intent    ARGV[2...]  the channels on which to tell the readers that it kept out, or none to be silent
-- Returns 1: taken back. 0: there was none at any name, or it had ended.
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
