-- Extends a mutex on one name or several, and restores the keys that are missing.
--   KEYS     the names, and with fencing their fences after them
--   ARGV[1]  the token    ARGV[2]  the TTL in milliseconds
--   With fencing: ARGV[3]  the fencing token, or '' for none    ARGV[4]  the fences' TTL in milliseconds
-- Returns 1: extended. -1: a key was missing and is restored. 0: another holder has a name, and nothing is changed.
-- A key of another type counts as another holder's. Every other error is returned. A value is read only up to a length
-- that no token has, as in common.lua.
local n = ARGV[3] and #KEYS / 2 or #KEYS
local f = ARGV[3] and ARGV[3] ~= '' and fencingToken(ARGV[3])
local missing = {}
local result = 1
for i = 1, n do
	local held = redis.pcall('GETRANGE', KEYS[i], '0', '4200')
	if type(held) ~= 'string' or held == '' then
		held = redis.pcall('GET', KEYS[i])
	end
	if held == false then
		missing[i] = true
		result = -1
	elseif held ~= ARGV[1] then
		if type(held) == 'table' and not string.find(held['err'], 'WRONGTYPE') then
			return held
		end
		return 0
	end
end
if f then
	raiseAll(n + 1, 2 * n, f, ARGV[4])
end
for i = 1, n do
	if missing[i] then
		redis.call('SET', KEYS[i], ARGV[1], 'NX', 'PX', ARGV[2])
	else
		redis.call('PEXPIRE', KEYS[i], ARGV[2])
	end
end
return result
