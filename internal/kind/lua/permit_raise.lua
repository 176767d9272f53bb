-- Raises the fence of a semaphore to the fencing token that the quorum decided on for a permit, while the permit is
-- held. The fence must be below the token: an equal fence was given to another permit.
--   ARGV[4]  the fencing token    ARGV[5]  the fence's TTL in milliseconds
-- Returns the fencing token; a larger one, which is free, if this master has given out the token or a larger one; 0 if
-- the permit is not held. In the last two cases nothing is changed.
local f = fencingToken(ARGV[4])
local taken = survey(clock())
if not taken or taken[slot] ~= permit then
	return 0
end
local free = nextToken(KEYS[2], fence(KEYS[2]), f)
if free == f then
	setFence(KEYS[2], f, nil, ARGV[5])
end
return free
