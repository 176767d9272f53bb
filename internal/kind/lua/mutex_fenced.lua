-- Acquires a mutex with a fencing token on one name that is free. It needs three commands and creates no unneeded
-- values, since most of its cost is Lua itself. Its keys and arguments are those of mutex_acquire, which follows. If
-- the name is held, the hint is not above the counter, or one of the two is not a token, this part changes nothing and
-- mutex_acquire does the work. The counter is read before anything is written: otherwise it would have to be restored,
-- with its TTL.
local last = redis.call('GET', KEYS[2]) or '0'
if #last <= 16 and string.find(last, '^%d+$') and #ARGV[3] <= 16 and string.find(ARGV[3], '^%d+$') then
	local hint = tonumber(ARGV[3])
	if tonumber(last) < hint and hint < 2^53 and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
		redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
		return hint
	end
end
