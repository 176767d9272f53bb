-- Takes back the intent of a writer that gave up, and tells the readers that it kept out.
--   ARGV[3]  the intent    ARGV[4]  the channel to announce it on
-- Returns 1: taken back. 0: there was none, or it had ended.
local now = clock()
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now)
if redis.call('ZREM', KEYS[3], ARGV[3]) == 0 then
	return 0
end
if intent(now) == 0 then
	redis.pcall('PUBLISH', ARGV[4], '')
end
return 1
