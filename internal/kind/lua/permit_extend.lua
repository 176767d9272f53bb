-- Extends a permit of a semaphore, or restores it if it is missing and its slot is free.
--   ARGV[4]  the TTL in milliseconds    ARGV[5]  the fencing token, or '' for none
--   ARGV[6]  the fence's TTL in milliseconds
-- Returns 1: extended. -1: the permit was missing and is restored. 0: another holder blocks, and nothing is changed.
local f = ARGV[5] ~= '' and fencingToken(ARGV[5])
local now = clock()
local taken = survey(now)
if not taken or (taken[slot] and taken[slot] ~= permit) then
	return 0
end
if f then
	setFence(KEYS[2], math.max(f, (fence(KEYS[2]))), nil, ARGV[6])
end
put(KEYS[1], permit, now, ARGV[4])
return taken[slot] and 1 or -1
