-- Acquires a mutex on all of the names or on none, with a fencing token if requested. (A mutex on one name without a
-- fencing token is a plain SET NX PX.)
--   KEYS     the names, and with fencing their fences after them
--   ARGV[1]  the token                     ARGV[2]  the TTL in milliseconds
--   ARGV[3]  the smallest fencing token to give, or '' for none
--   ARGV[4]  the fences' TTL in milliseconds
-- Returns the fencing token, or 1 without fencing; or {0, kind, TTL in milliseconds, which name} of the holder that
-- blocks.
-- A mutex sets the TTL of its fences, also to a shorter one: a holder that needed a longer TTL has ended.
local hint = ARGV[3] ~= '' and fencingToken(ARGV[3])
local n = hint and #KEYS / 2 or #KEYS
local now = clock()
for i = 1, n do
	local kind, _, ttl = holder(KEYS[i], now)
	if kind then
		return {0, kind, ttl, i}
	end
end
local f = 1
if hint then
	f = hint
	for i = n + 1, 2 * n do
		f = nextToken(KEYS[i], fence(KEYS[i]), f)
	end
	for i = n + 1, 2 * n do
		redis.call('SET', KEYS[i], fenceText(f), 'PX', ARGV[4])
	end
end
for i = 1, n do
	redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
return f
