-- Reports who holds a name, and changes nothing.
--   KEYS[1]  the name    KEYS[2]  its fence, if the name can have one
-- Returns {} if the name is free. Otherwise returns {kind, fence, token, TTL in milliseconds, token, TTL, ...}: kind is
-- 'mutex', 'reader', 'writer', 'reentrant', 'semaphore', or the type of a foreign key; fence is 0 if no fencing token
-- was given out; a TTL is -1 if the key has none. The tokens of a semaphore have '<slots>:<slot>:' before them.
local now = clock()
local kind, token, ttl = holder(KEYS[1], now)
if kind == nil then
	return {}
end
local f = 0
if KEYS[2] then
	local last, owned = fence(KEYS[2])
	f = sharedByOwner(kind) and (owned or 0) or last
end
if not sharedByAll(kind) and not sharedByOwner(kind) and not sharedBySlot(kind) then
	return {kind, f, token, ttl}
end
local reply = {kind, f}
local live = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES')
for i = 1, #live, 2 do
	reply[#reply + 1] = string.match(live[i], '^redlock:%a+:(.*)$') or ''
	reply[#reply + 1] = live[i + 1] - now
end
return reply
