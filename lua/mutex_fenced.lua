-- Acquires a mutex on one name with a fencing token, where nothing is in the way: three commands, and nothing made that is
-- not needed, since it is Lua that costs. It has the keys and arguments of mutex_acquire, which follows. That takes over, with
-- everything as it was, where the name is held, or the hint is not above the counter, or one of the two is no token. The
-- counter is read before anything is written: one that was overwritten would have to be restored, with its TTL.
local last = redis.call('GET', KEYS[2]) or '0'
if string.find(last, '^%d+$') and #last <= 16 and string.find(ARGV[3], '^%d+$') and #ARGV[3] <= 16 then
	local hint = tonumber(ARGV[3])
	if tonumber(last) < hint and hint < 2^53 and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
		redis.call('SET', KEYS[2], ARGV[3], 'PX', ARGV[4])
		return hint
	end
end
