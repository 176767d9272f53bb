-- Releases a lock with entries. If it was the last hold, publishes the release.
--   ARGV[3]  the channel on which to publish, or '' for none    ARGV[4]  the waiter's own intent, or ''
-- Returns 1 plus the number of subscribers that received the message: released. 0: not held with this token.
local now = clock()
if ARGV[4] ~= '' then
	redis.call('ZREM', KEYS[3], ARGV[4])
end
local kind, token = holder(KEYS[1], now)
local was = ARGV[1]
if was == 'reader' and kind == 'writer' and token == ARGV[2] then
	was = 'writer' -- this master has not executed the downgrade
end
if kind ~= was then
	if kind == nil then -- an expired entry would be valid again if the clock were set back
		redis.call('ZREM', KEYS[1], entry(was), entry('writer'))
	end
	return 0
end
local ends = tonumber(redis.call('ZSCORE', KEYS[1], entry(was)) or now)
redis.call('ZREM', KEYS[1], entry(was))
endWithLast(KEYS[1])
if ends <= now then
	return 0
end
if ARGV[3] ~= '' and holder(KEYS[1], now) == nil then
	return 1 + (tonumber(redis.pcall('PUBLISH', ARGV[3], '')) or 0)
end
return 1
