-- Acquires a mutex on one name or several, all or nothing, with a fencing token if asked. (One name without one takes a
-- plain SET NX PX.)
--   KEYS     the names, and with fencing their fences behind them
--   ARGV[1]  the token                     ARGV[2]  the TTL in milliseconds
--   ARGV[3]  the smallest fencing token to give, or '' for none
--   ARGV[4]  how long a fence is kept, in milliseconds
-- Returns the fencing token, 1 without; or {0, kind, milliseconds left, which name} of the holder in the way.
-- A mutex sets the life of its fences, also to a shorter one: who had asked for a longer one holds the name no more.
local hint = ARGV[3] ~= '' and fencingToken(ARGV[3])
local n = hint and #KEYS / 2 or #KEYS
local now = clock()
for i = 1, n do
	local kind, _, left = holder(KEYS[i], now)
	if kind then
		return {0, kind, left, i}
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
