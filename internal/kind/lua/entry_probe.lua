-- Reports which lock blocks a lock with entries. Leaves the intent of an exclusive waiter, which keeps new readers out:
-- a writer's at every name, any other only at a name that readers hold.
--   ARGV[3]  the waiter's intent, or ''    ARGV[4]  the intent's TTL in milliseconds
-- Returns 1 if no lock blocks; {0, kind, TTL in milliseconds, 1, token, intent} for the holder with the longest TTL,
-- where intent is 1 if the intent was left and 0 if not; or {0, 'writer', TTL in milliseconds} for an exclusive waiter.
local now = clock()
local kind, token, ttl = holder(KEYS[1], now)
local intentLeft = 0
if ARGV[3] ~= '' and (ARGV[1] == 'writer' or kind == 'reader') then
	put(KEYS[3], ARGV[3], now, ARGV[4])
	intentLeft = 1
end
if not admitted(kind, token) then
	return {0, kind, ttl, 1, token, intentLeft}
end
if ARGV[1] == 'reader' and intent(now) > 0 then
	return {0, 'writer', intent(now)}
end
return 1
