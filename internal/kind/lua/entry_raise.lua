-- Raises the fence of a lock with entries to the token that the quorum settled on, while the lock is held.
--   ARGV[3]  the fencing token    ARGV[4]  how long a fence is kept, in milliseconds
-- Returns the fence there is now; 0 if the lock is not held with this token, and nothing is changed.
local f = fencingToken(ARGV[3])
local now = clock()
if not held(holder(KEYS[1], now), now) then
	return 0
end
return raise(f, ARGV[4])
