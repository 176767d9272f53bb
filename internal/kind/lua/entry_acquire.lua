-- Acquires a lock with entries.
--   ARGV[3]  the TTL in milliseconds    ARGV[4]  the smallest fencing token to give, or '' for none
--   ARGV[5]  how long a fence is kept, in milliseconds    ARGV[6]  the waiter's own intent, or ''
-- Returns the fencing token, 1 without; {1, fencing token} if it is the one that the owner's other holds have; or
-- {0, kind, milliseconds left} of the holder in the way.
local hint = ARGV[4] ~= '' and fencingToken(ARGV[4])
local now = clock()
local kind, token, left = holder(KEYS[1], now)
if not admitted(kind, token) then
	return {0, kind, left}
end
if ARGV[1] == 'reader' and intent(now) > 0 then
	return {0, 'writer', intent(now)}
end

local reply, f = 1, nil
if hint then
	local last, owned = fence(KEYS[2])
	if kind == 'reentrant' and owned then
		f = owned
		reply = {1, f}
	elseif kind == 'reader' and last > 0 then
		f = last -- readers together share what the first of them has
		reply = f
	else
		f = nextToken(KEYS[2], last, hint)
		reply = f
	end
end
disown(kind, ARGV[5])
if f then
	raise(f, ARGV[5])
end
if ARGV[6] ~= '' then
	redis.call('ZREM', KEYS[3], ARGV[6])
end
put(KEYS[1], entry(ARGV[1]), now, ARGV[3]) -- last, behind all that a foreign key beside the name can make fail
return reply
