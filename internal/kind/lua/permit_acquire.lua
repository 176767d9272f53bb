-- Acquires a permit in one slot of a semaphore.
--   ARGV[4]  the TTL in milliseconds    ARGV[5]  the smallest fencing token to give, or '' for none
--   ARGV[6]  the fence's TTL in milliseconds
-- Returns the fencing token, or 1 without fencing. If the slot is taken, returns {0, 'semaphore', TTL of the permit that
-- expires first, number of slots, slots}, where slots has a digit for each slot: 1 if it is taken. If another lock
-- blocks, returns what survey does.
-- Divided by the number of slots, the token leaves the slot as the remainder (the last slot leaves 0), so permits in
-- different slots never have one token.
local hint = ARGV[5] ~= '' and fencingToken(ARGV[5])
local now = clock()
local taken, first = survey(now)
if not taken then
	return first
end
if taken[slot] then
	return {0, 'semaphore', first, tonumber(ARGV[1]), (digits(taken))}
end
local f = 1
if hint then
	f = nextToken(KEYS[2], fence(KEYS[2]), hint)
	local past = (f - slot) % tonumber(ARGV[1])
	if past > 0 then
		f = nextToken(KEYS[2], f, f - past + ARGV[1])
	end
	setFence(KEYS[2], f, nil, ARGV[6])
end
put(KEYS[1], permit, now, ARGV[4])
return f
