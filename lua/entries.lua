-- What the scripts share that keep sorted sets whose entries are scored by when they end: the holds at a name, and the
-- intents of its waiters beside it.

-- Lets a key end with the last of its entries: a plain SET NX must not find it when nobody holds the lock any more.
local function endWithLast(key)
	local last = redis.call('ZRANGE', key, -1, -1, 'WITHSCORES')
	if last[2] then
		redis.call('PEXPIREAT', key, last[2])
	end
end

-- Puts an entry into a sorted set, or gives it another end, and clears away what has ended.
local function put(key, member, now, ttl)
	redis.call('ZREMRANGEBYSCORE', key, '-inf', now)
	redis.call('ZADD', key, now + ttl, member)
	endWithLast(key)
end
