-- Takes back the intent of a writer that gave up, and tells the readers that it kept out.
--   ARGV[3]  the intent    ARGV[4]  the channel to announce it on
-- Returns 1: taken back. 0: there was none.
if redis.call('ZREM', KEYS[3], ARGV[3]) == 0 then
	return 0
end
if intent(clock()) == 0 then
	redis.pcall('PUBLISH', ARGV[4], '')
end
return 1
