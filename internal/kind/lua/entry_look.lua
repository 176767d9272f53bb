-- Reports which lock is in the way of a lock with entries. Leaves the intent of an exclusive waiter, which keeps new
-- readers out: a writer's always, an owner's only if readers hold the name.
--   ARGV[3]  the waiter's intent, or ''    ARGV[4]  the intent's TTL, in milliseconds
-- Returns 1 if no lock is in the way; {0, kind, milliseconds left, 1, token, intent} for the holder with the longest
-- TTL, where intent is 1 if the intent was left, else 0; and {0, 'writer', milliseconds left} for an exclusive waiter.
local now = clock()
local kind, token, left = holder(KEYS[1], now)
local intended = 0
if ARGV[3] ~= '' and (ARGV[1] == 'writer' or kind == 'reader') then
	put(KEYS[3], ARGV[3], now, ARGV[4])
	intended = 1
end
if not admitted(kind, token) then
	return {0, kind, left, 1, token, intended}
end
if ARGV[1] == 'reader' and intent(now) > 0 then
	return {0, 'writer', intent(now)}
end
return 1
