-- Releases a hold with an entry, of a lock that must stay taken for some time: the entry is replaced by another one,
-- which expires after that time. Publishes the release, as mutex_keep does.
--   KEYS[1]  the name
--   ARGV[1]  the time in milliseconds    ARGV[2]  the other entry    ARGV[3]  the hold's entry
--   ARGV[4]  the channel on which to publish
-- Returns 1 plus the number of subscribers that received the message: the name has the other entry. 0: it had neither.
local now = clock()
if redis.call('TYPE', KEYS[1])['ok'] ~= 'zset' then
	return 0
end
local function has(entry)
	return tonumber(redis.call('ZSCORE', KEYS[1], entry) or now) > now
end
local kept, held = has(ARGV[2]), has(ARGV[3])
redis.call('ZREM', KEYS[1], ARGV[3])
if kept then
	endWithLast(KEYS[1])
	return 1
elseif held then
	put(KEYS[1], ARGV[2], now, ARGV[1])
	return 1 + (tonumber(redis.pcall('PUBLISH', ARGV[4], '')) or 0)
end
return 0
