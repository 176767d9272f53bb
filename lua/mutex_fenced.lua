-- Acquires a mutex on one name with a fencing token, where nothing is in the way: two commands, and nothing made that is
-- not needed, since it is Lua that costs. It has the keys and arguments of mutex_acquire, which follows, and takes over
-- with everything as it was (but for when the counter was to expire) where somebody holds the name, or the counter is not behind
-- the hint, or is none.
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	local hint = tonumber(ARGV[3])
	local last = redis.pcall('SET', KEYS[2], ARGV[3], 'PX', ARGV[4], 'GET') or '0'
	if type(last) == 'string' and string.find(last, '^%d+$') and (tonumber(last) or hint) < hint then
		return hint
	end
	redis.call('DEL', KEYS[1])
	if type(last) == 'table' then
		return last
	end
	redis.call('SET', KEYS[2], last)
end
