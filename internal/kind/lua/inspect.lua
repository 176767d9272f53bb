-- Says who holds a name, and changes nothing.
--   KEYS[1]  the name    KEYS[2]  its fence, if there can be one
-- Returns {}: nobody. {kind, fence, token, milliseconds left, token, milliseconds left, ...}: kind is 'mutex', 'reader',
-- 'writer', 'reentrant', or the type of a key that is none of ours; the fence is 0 if none was given out; -1: for ever.
local now = clock()
local kind, token, left = holder(KEYS[1], now)
if kind == nil then
	return {}
end
local f = 0
if KEYS[2] then
	local last, owned = fence(KEYS[2])
	f = kind == 'reentrant' and (owned or 0) or last
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
