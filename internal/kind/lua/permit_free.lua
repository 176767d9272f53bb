-- Acquires a permit in a free slot, without a fencing token. (See entry_free.) Its keys and arguments are those of
-- permit_acquire, which follows. This part changes nothing, and permit_acquire does the work, if the slot is taken or
-- the name has another lock.
local kind = ARGV[5] == '' and redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' or kind == 'zset' then
	local t = redis.call('TIME')
	local now = t[1] * 1000 + math.floor(t[2] / 1000)
	local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
	local permits = 'redlock:semaphore:' .. ARGV[1] .. ':'
	local own = permits .. ARGV[2] .. ':'
	local last = all[#all - 1]
	local free = not last or string.find(last, '^redlock:%a+:') ~= nil -- else another program's
	for i = #all, 2, -2 do -- from the one that expires last
		if tonumber(all[i]) <= now then
			break
		end
		local permit = all[i - 1]
		if string.sub(permit, 1, #own) == own or string.sub(permit, 1, #permits) ~= permits then
			free = false
			break
		end
	end
	if free then
		if all[2] and tonumber(all[2]) <= now then
			redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
		end
		local ends = now + ARGV[4]
		redis.call('ZADD', KEYS[1], ends, own .. ARGV[3])
		if not all[1] or ends > tonumber(all[#all]) then
			redis.call('PEXPIREAT', KEYS[1], ends)
		end
		return 1
	end
end
