-- Writes a value unless a later holder has written it.
--   KEYS[1]  a hash: the value, and the largest fencing token that has written it
--   ARGV[1]  the fencing token    ARGV[2]  the value
-- Returns 1: written. 0: the token is stale, and nothing is changed.
local last = tonumber(redis.call('HGET', KEYS[1], 'fence') or 0)
if tonumber(ARGV[1]) < last then
	return 0
end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'value', ARGV[2])
return 1
