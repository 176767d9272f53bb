-- Says what is in the way of a lock with entries. A writer that waits leaves its intent, which keeps new readers out.
--   ARGV[3]  the writer's intent, or ''    ARGV[4]  how long the intent lives, in milliseconds
-- Returns 1: nothing. {0, kind, milliseconds left, 1, token}: the holder that stays longest; {0, 'writer', milliseconds
-- left}: a writer that waits.
local now = clock()
if ARGV[3] ~= '' then
	put(KEYS[3], ARGV[3], now, ARGV[4])
end
local kind, token, left = holder(KEYS[1], now)
if not admitted(kind, token) then
	return {0, kind, left, 1, token}
end
if ARGV[1] == 'reader' and intent(now) > 0 then
	return {0, 'writer', intent(now)}
end
return 1
