-- Extends a lock with entries, or restores its entry if that is missing.
--   ARGV[3]  the TTL in milliseconds    ARGV[4]  the fencing token, or '' for none
--   ARGV[5]  the fence's TTL in milliseconds
-- Returns 1: extended. -1: the entry was missing and is restored. 0: another holder blocks, and nothing is changed.
local f = ARGV[4] ~= '' and fencingToken(ARGV[4])
local now = clock()
local kind, token = holder(KEYS[1], now)
local result = -1
if held(kind, now) then
	result = 1
elseif not admitted(kind, token) then
	return 0
end
disown(kind, ARGV[5])
if f then
	raise(f, ARGV[5])
end
put(KEYS[1], entry(ARGV[1]), now, ARGV[3])
return result
