-- Releases a mutex on one name or several that must stay taken for some time: the names get another token, whose TTL is
-- this time. Under the old token a late extension would change the TTL. Publishes the release, so that waiters learn the
-- new TTL. A repeated request changes nothing, and publishes nothing.
--   KEYS     the names
--   ARGV[1]  the token    ARGV[2]  the TTL in milliseconds    ARGV[3]  the other token
--   ARGV[4...]  the channels on which to publish, one for each name
-- Returns 1 plus the largest number of subscribers that received a message: the names have the other token. 0: some name
-- was held with neither, and is unchanged.
-- An error of PUBLISH is ignored, as in mutex_release.
-- A key of another type counts as another holder's. Every other error is returned. A value is read only up to a length
-- that no token has, as in common.lua.
local result, received = 1, 0
for i = 1, #KEYS do
	local held = redis.pcall('GETRANGE', KEYS[i], '0', '4200')
	if type(held) ~= 'string' then
		held = redis.pcall('GET', KEYS[i])
	end
	if held == ARGV[1] then
		redis.call('SET', KEYS[i], ARGV[3], 'PX', ARGV[2])
		received = math.max(received, tonumber(redis.pcall('PUBLISH', ARGV[i + 3], '')) or 0)
	elseif type(held) == 'table' and not string.find(held['err'], 'WRONGTYPE') then
		return held
	elseif held ~= ARGV[3] then
		result = 0
	end
end
return result > 0 and result + received or 0
