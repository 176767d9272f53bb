-- Raises the fence of a semaphore to the fencing token that the quorum decided on for a permit, while the permit is
-- held. A fence that is larger already stays: unlike those of a mutex, the tokens of a semaphore's slots differ anyway.
--   ARGV[4]  the fencing token    ARGV[5]  the fence's TTL in milliseconds
-- Returns the fencing token; 0 if the permit is not held, and then nothing is changed.
local f = fencingToken(ARGV[4])
local taken = survey(clock())
if not taken or taken[slot] ~= permit then
	return 0
end
setFence(KEYS[2], math.max(f, (fence(KEYS[2]))), nil, ARGV[5])
return f
