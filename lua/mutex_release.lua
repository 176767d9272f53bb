-- Releases a mutex and tells those who wait for it.
--   KEYS[1] the name    ARGV[1] the token    ARGV[2] the channel to announce it on, or '' to be silent
-- Returns 1: released. 0: it is not held with this token, and unchanged.
-- The message is a courtesy (an ACL may forbid it): waiters find out without it, only later.
-- A key of another type is somebody else's, too; every other error is passed on.
local held = redis.pcall('GET', KEYS[1])
if type(held) == 'table' and not string.find(held['err'], 'WRONGTYPE', 1, true) then
	return held
end
if held ~= ARGV[1] then
	return 0
end
redis.call('DEL', KEYS[1])
if ARGV[2] ~= '' then
	redis.pcall('PUBLISH', ARGV[2], '')
end
return 1
