-- Extends a lock with entries, or puts it back where it is missing. A reader whose token is there as a writer's becomes
-- the reader that it is: that is a downgrade, without a gap.
--   ARGV[3]  the TTL in milliseconds    ARGV[4]  the fencing token, or '' for none
--   ARGV[5]  how long a fence is kept, in milliseconds    ARGV[6]  the channel to announce a downgrade on
-- Returns 1: extended. -1: it was missing, and is back. 0: another is in the way, and nothing is changed.
local f = ARGV[4] ~= '' and fencingToken(ARGV[4])
local now = clock()
local kind, token = holder(KEYS[1], now)
local result = -1
local downgraded = ARGV[1] == 'reader' and kind == 'writer' and token == ARGV[2]
if downgraded or held(kind, now) then
	result = 1
elseif not admitted(kind, token) then
	return 0
end
disown(kind, ARGV[5])
if f then
	raise(f, ARGV[5])
end
if downgraded then
	redis.call('ZREM', KEYS[1], entry('writer'))
	redis.pcall('PUBLISH', ARGV[6], '')
end
put(KEYS[1], entry(ARGV[1]), now, ARGV[3])
return result
