-- Raises the fence of a lock with entries to the fencing token that the quorum decided on, while the lock is held.
--   ARGV[3]  the fencing token    ARGV[4]  the fence's TTL in milliseconds
-- Returns the fence after that; 0 if the lock is not held with this token, and then nothing is changed.
local f = fencingToken(ARGV[3])
local now = clock()
if not held(holder(KEYS[1], now), now) then
	return 0
end
return raise(f, ARGV[4])
