-- Says who holds a name, and changes nothing.
--   KEYS[1]  the name    KEYS[2]  its fence
-- Returns {}: nobody. {kind, fence, token, milliseconds left, token, milliseconds left, ...}: kind is 'mutex', 'reader',
-- 'writer', 'reentrant', or the type of a key that is none of ours; the fence is 0 if none was given out; -1: for ever.
local now = clock()
local kind, token, left = holder(KEYS[1], now)
if kind == nil then
	return {}
end
local f = fence(KEYS[2])
if kind == 'reentrant' then
	f = tonumber(redis.call('HGET', KEYS[2], 'owned') or 0)
end
if kind ~= 'reader' and kind ~= 'reentrant' then
	return {kind, f, token, left}
end
local reply = {kind, f}
local live = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. string.format('%.0f', now), '+inf', 'WITHSCORES')
for i = 1, #live, 2 do
	reply[#reply + 1] = string.match(live[i], '^redlock:%a+:(.*)$') or ''
	reply[#reply + 1] = live[i + 1] - now
end
return reply
