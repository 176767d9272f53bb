-- Releases a mutex on one name or several that must stay taken for some time: the names get another token, with the TTL
-- that is left of this time. Under the old token a late extension would change the TTL. A master may execute the
-- request late, so the TTL is also bounded by the one that the old token has by then. A repeated request asks for less
-- time than the first, and shortens the TTL.
--   KEYS     the names
--   ARGV[1]  the token    ARGV[2]  the TTL in milliseconds    ARGV[3]  the other token
--   ARGV[4]  by how many milliseconds the names may outlive the old token; negative: they end earlier
-- Returns 1: the names have the other token, or it has expired. 0: some name was held with neither, and is unchanged.
-- A key of another type counts as another holder's. Every other error is returned.
local result = 1
for i = 1, #KEYS do
	local held = redis.pcall('GET', KEYS[i])
	if held == ARGV[1] then
		local ttl, left = tonumber(ARGV[2]), redis.call('PTTL', KEYS[i])
		if left >= 0 then
			ttl = math.min(ttl, left + ARGV[4])
		end
		if ttl > 0 then
			redis.call('SET', KEYS[i], ARGV[3], 'PX', string.format('%.0f', ttl))
		else
			redis.call('DEL', KEYS[i])
		end
	elseif held == ARGV[3] then
		if redis.call('PTTL', KEYS[i]) > tonumber(ARGV[2]) then
			redis.call('PEXPIRE', KEYS[i], ARGV[2])
		end
	elseif type(held) == 'table' and not string.find(held['err'], 'WRONGTYPE') then
		return held
	else
		result = 0
	end
end
return result
