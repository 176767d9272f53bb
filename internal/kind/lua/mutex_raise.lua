-- Raises the fences of a mutex's names to the token that the quorum decided on, while the mutex is held.
--   KEYS     the names, and their fences after them
--   ARGV[1]  the token    ARGV[2]  how many names    ARGV[3]  the fencing token
--   ARGV[4]  the fences' TTL in milliseconds
-- Returns the largest fence after that; 0 if the mutex is not held with this token, and then nothing is changed.
local n = tonumber(ARGV[2])
local f = fencingToken(ARGV[3])
for i = 1, n do
	local held = redis.pcall('GETRANGE', KEYS[i], '0', '4200')
	if type(held) ~= 'string' then
		held = redis.pcall('GET', KEYS[i])
	end
	if held ~= ARGV[1] then
		if type(held) == 'table' and not string.find(held['err'], 'WRONGTYPE') then
			return held
		end
		return 0
	end
end
return raiseAll(n + 1, 2 * n, f, ARGV[4])
