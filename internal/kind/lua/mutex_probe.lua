-- Reports which lock blocks a mutex on one or several names. Leaves the waiter's intent at every name that readers
-- hold, which keeps new readers out there.
--   KEYS     the names, and with an intent the keys of their intents after them
--   ARGV[1]  the waiter's intent, or ''    ARGV[2]  the intent's TTL in milliseconds
-- Returns 1 if no lock blocks. Otherwise returns {0, kind, TTL in milliseconds, which name, token, intent} for the
-- holder with the longest TTL, where intent is 1 if the intent was left at any name and 0 if not.
local n = ARGV[1] == '' and #KEYS or #KEYS / 2
local now = clock()
local longest = 1
local intentLeft = 0
for i = 1, n do
	local kind, token, ttl = holder(KEYS[i], now)
	if kind == 'reader' and ARGV[1] ~= '' then
		put(KEYS[n + i], ARGV[1], now, ARGV[2])
		intentLeft = 1
	end
	if kind and (longest == 1 or ttl < 0 or (longest[3] >= 0 and ttl > longest[3])) then
		longest = {0, kind, ttl, i, token}
	end
end
if longest ~= 1 then
	longest[6] = intentLeft
end
return longest
