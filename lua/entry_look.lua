-- Says what is in the way of a lock with entries. An exclusive waiter leaves its intent, which keeps new readers out: a
-- writer always, an owner where readers hold the name.
--   ARGV[3]  the waiter's intent, or ''    ARGV[4]  how long the intent lives, in milliseconds
-- Returns 1: nothing. {0, kind, milliseconds left, 1, token, intent}: the holder that stays longest, and whether the
-- intent was left, 1 or 0; {0, 'writer', milliseconds left}: an exclusive waiter.
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
