-- Acquires a lock with entries.
--   ARGV[3]  the TTL in milliseconds    ARGV[4]  the smallest fencing token to give, or '' for none
--   ARGV[5]  the fence's TTL in milliseconds    ARGV[6]  the waiter's own intent, or ''
-- Returns the fencing token, or 1 without fencing; {1, fencing token} if the owner's other holds have the same token;
-- or {0, kind, TTL in milliseconds} of the holder that blocks.
local hint = ARGV[4] ~= '' and fencingToken(ARGV[4])
local now = clock()
local kind, token, ttl = holder(KEYS[1], now)
if not admitted(kind, token) then
	return {0, kind, ttl}
end
if ARGV[1] == 'reader' and intent(now) > 0 then
	return {0, 'writer', intent(now)}
end

local reply, f = 1, nil
if hint then
	local last, owned = fence(KEYS[2])
	if sharedByOwner(kind) and owned then
		f = owned
		reply = {1, f}
	elseif sharedByAll(kind) and last > 0 then
		f = last -- readers that overlap share the token of the first
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
put(KEYS[1], entry(ARGV[1]), now, ARGV[3]) -- last, after everything that a foreign sibling key can make fail
return reply
