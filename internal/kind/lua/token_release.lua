-- Releases the lock that has a token, whatever its kind, and publishes the release.
--   KEYS[1]  the name
--   ARGV[1]  the token    ARGV[2]  the channel on which to publish
-- Returns 1 plus the number of subscribers that received the message: released. 0: the name does not have the token, or
-- its entry has expired.
local now = clock()
local kind, longest = holder(KEYS[1], now)
if kind == nil or longest == '' then -- free, or no lock
	return 0
end
local news = ''
if kind == 'mutex' then
	if longest ~= ARGV[1] then
		return 0
	end
	redis.call('DEL', KEYS[1])
else
	local hold = 'redlock:' .. kind .. ':' .. ARGV[1]
	if sharedBySlot(kind) then
		for _, one in ipairs(redis.call('ZRANGE', KEYS[1], '0', '-1')) do
			local _, permit = parse(one)
			local slot, token = string.match(permit or '', '^%d+:(%d+):(.*)$')
			if token == ARGV[1] then
				hold, news = one, slot
			end
		end
	end
	local ends = redis.call('ZSCORE', KEYS[1], hold)
	if not ends or tonumber(ends) <= now then
		return 0
	end
	redis.call('ZREM', KEYS[1], hold)
	endWithLast(KEYS[1])
	if not sharedBySlot(kind) and holder(KEYS[1], now) then -- the name is not free yet
		return 1
	end
end
return 1 + (tonumber(redis.pcall('PUBLISH', ARGV[2], news)) or 0)
