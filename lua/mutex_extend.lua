-- Extends a mutex, or puts it back where it is missing.
--   KEYS[1] the name    ARGV[1] the token    ARGV[2] the TTL in milliseconds
-- Returns 1: extended. -1: it was missing, and is back. 0: it is somebody else's, and unchanged.
-- A key of another type is somebody else's, too; every other error is passed on.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' and not string.find(held['err'], 'WRONGTYPE', 1, true) then
	return held
end
if held == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 1
end
if held == false then
	redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
	return -1
end
return 0
