-- Acquires a permit in a free slot, without a fencing token. (See entry_free.) Its keys and arguments are those of
-- permit_acquire, which follows. This part changes nothing, and permit_acquire does the work, if the slot is taken or
-- the name has another lock. It reads one score only, because Redis is slow to format many.
local last = ARGV[5] == '' and redis.pcall('ZRANGE', KEYS[1], '-1', '-1', 'WITHSCORES')
if last and last['err'] and not string.find(last['err'], 'WRONGTYPE') then
	return last
end
local ours = last and last[1] and string.find(string.sub(last[1], 1, 80), '^redlock:%a+:')
if last and not last['err'] and (not last[1] or ours) then -- else another program's
	local t = redis.call('TIME')
	local now = t[1] * 1000 + math.floor(t[2] / 1000)
	local permits = 'redlock:semaphore:' .. ARGV[1] .. ':'
	local own = permits .. ARGV[2] .. ':'
	local free = true
	if last[1] then
		for _, permit in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
			if string.sub(permit, 1, #own) == own or string.sub(permit, 1, #permits) ~= permits then
				free = false
				break
			end
		end
		if free then
			redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
		end
	end
	if free then
		local ends = now + ARGV[4]
		redis.call('ZADD', KEYS[1], ends, own .. ARGV[3])
		if not last[1] or ends > tonumber(last[2]) then
			redis.call('PEXPIREAT', KEYS[1], ends)
		end
		return 1
	end
end
