-- Releases a mutex on one name or several, and publishes the release.
--   KEYS     the names
--   ARGV[1]  the token    ARGV[2...]  the channels on which to publish, one for each name; none: publish nothing
-- Returns 1 plus the largest number of subscribers that received a message: released. 0: some name was not held with
-- this token; it is unchanged, and the others are released.
-- An error of PUBLISH (an ACL may forbid it) is ignored: without the messages, waiters find out later.
-- A key of another type counts as another holder's. Every other error is returned. A value is read only up to a length
-- that no token has, as in common.lua.
local result, received = 1, 0
for i = 1, #KEYS do
	local held = redis.pcall('GETRANGE', KEYS[i], '0', '4200')
	if type(held) ~= 'string' then
		held = redis.pcall('GET', KEYS[i])
	end
	if held == ARGV[1] then
		redis.call('DEL', KEYS[i])
		if ARGV[i + 1] then
			local n = redis.pcall('PUBLISH', ARGV[i + 1], '')
			received = math.max(received, tonumber(n) or 0)
		end
	elseif type(held) == 'table' and not string.find(held['err'], 'WRONGTYPE') then
		return held
	else
		result = 0
	end
end
return result > 0 and result + received or 0
