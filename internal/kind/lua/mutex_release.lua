-- Releases a mutex on one name or several, and tells those who wait for them.
--   KEYS     the names
--   ARGV[1]  the token    ARGV[2...]  the channels to announce the names on, or none to be silent
-- Returns 1 and how many have heard it, at most: released. 0: some name was not held with this token; it is unchanged, and
-- the others are released.
-- The messages are a courtesy (an ACL may forbid them): waiters find out without them, only later.
-- A key of another type is another's, too; every other error is passed on.
local result, heard = 1, 0
for i = 1, #KEYS do
	local held = redis.pcall('GET', KEYS[i])
	if held == ARGV[1] then
		redis.call('DEL', KEYS[i])
		if ARGV[i + 1] then
			local n = redis.pcall('PUBLISH', ARGV[i + 1], '')
			heard = math.max(heard, tonumber(n) or 0)
		end
	elseif type(held) == 'table' and not string.find(held['err'], 'WRONGTYPE', 1, true) then
		return held
	else
		result = 0
	end
end
return result > 0 and result + heard or 0
