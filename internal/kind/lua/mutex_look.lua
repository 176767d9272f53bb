-- Reports which lock is in the way of a mutex on one or several names. Leaves the waiter's intent at every name that
-- readers hold, which keeps new readers out there.
--   KEYS     the names, and with an intent the keys of their intents after them
--   ARGV[1]  the waiter's intent, or ''    ARGV[2]  the intent's TTL, in milliseconds
-- Returns 1 if no lock is in the way. Otherwise returns {0, kind, milliseconds left, which name, token, intent}: the
-- holder with the longest TTL, and 1 if the intent was left at any name, else 0.
local n = ARGV[1] == '' and #KEYS or #KEYS / 2
local now = clock()
local worst = 1
local intended = 0
for i = 1, n do
	local kind, token, left = holder(KEYS[i], now)
	if kind == 'reader' and ARGV[1] ~= '' then
		put(KEYS[n + i], ARGV[1], now, ARGV[2])
		intended = 1
	end
	if kind and (worst == 1 or left < 0 or (worst[3] >= 0 and left > worst[3])) then
		worst = {0, kind, left, i, token}
	end
end
if worst ~= 1 then
	worst[6] = intended
end
return worst
