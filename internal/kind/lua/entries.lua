-- Shared by the scripts with sorted sets whose entries are scored by the time at which they expire: the holds at a
-- name, and the intents of its waiters.

-- Makes a key expire with its last entry, so that a plain SET NX does not find the key when the lock is free.
local function endWithLast(key)
	local last = redis.call('ZRANGE', key, '-1', '-1', 'WITHSCORES')
	if last[2] then
		redis.call('PEXPIREAT', key, last[2])
	end
end

-- Adds an entry to a sorted set, or changes when it expires. Removes expired entries.
local function put(key, member, now, ttl)
	redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
	redis.call('ZADD', key, now + ttl, member)
	endWithLast(key)
end
