-- Releases a hold with an entry, of a lock that must stay taken for some time: the entry is replaced by another one,
-- which expires after that time. (See mutex_keep.)
--   KEYS[1]  the name
--   ARGV[1]  the time in milliseconds    ARGV[2]  the other entry    ARGV[3...]  the entries that the hold may have
-- Returns 1: replaced. 0: the name has none of the hold's entries.
local now = clock()
if redis.call('TYPE', KEYS[1])['ok'] ~= 'zset' then
	return 0
end
local result = 0
for i = 3, #ARGV do
	local ends = tonumber(redis.call('ZSCORE', KEYS[1], ARGV[i]) or now)
	redis.call('ZREM', KEYS[1], ARGV[i])
	if ends > now then
		put(KEYS[1], ARGV[2], now, ARGV[1])
		result = 1
	end
end
endWithLast(KEYS[1])
return result
