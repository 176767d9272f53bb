-- Acquires a mutex on one name or several, all or nothing, with a fencing token if asked. (One name without one takes a
-- plain SET NX PX.)
--   KEYS     the names, and with fencing their fences behind them
--   ARGV[1]  the token                     ARGV[2]  the TTL in milliseconds
--   ARGV[3]  the smallest fencing token to give, or '' for none
--   ARGV[4]  how long a fence is kept, in milliseconds
-- Returns the fencing token, 1 without; or {0, kind, milliseconds left, which name} of the holder in the way.
local n = ARGV[3] == '' and #KEYS or #KEYS / 2
local now = clock()
for i = 1, n do
	local kind, _, left = holder(KEYS[i], now)
	if kind then
		return {0, kind, left, i}
	end
end
local f = 1
if ARGV[3] ~= '' then
	f = tonumber(ARGV[3])
	for i = n + 1, 2 * n do
		f = math.max(f, fence(KEYS[i]) + 1)
	end
	for i = n + 1, 2 * n do
		setFence(KEYS[i], f, nil, ARGV[4])
	end
end
for i = 1, n do
	redis.call('SET', KEYS[i], ARGV[1], 'PX', ARGV[2])
end
return f
