-- Reports who holds a name, and changes nothing.
--   KEYS[1]  the name    KEYS[2]  its fence, if the name can have one
-- Returns {} if the name is free. Otherwise returns {kind, fence, others, token, TTL in milliseconds, token, TTL, ...}:
-- kind is 'mutex', 'reader', 'writer', 'reentrant', 'semaphore', or the type of a foreign key; fence is 0 if no fencing
-- token was given out; others is the number of holders that the reply leaves out; a TTL is -1 if the key has none. The
-- tokens of a semaphore have '<slots>:<slot>:' before them. The reply has at most maxHolders holders, those with the
-- longest TTLs, and about maxBytes of tokens: otherwise it would grow with what many clients, or another program, put
-- at the name. Every token is cut to longestToken.
local maxHolders, maxBytes = 1024, 65536
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
	return {kind, f, 0, token, ttl}
end

-- Reports whether the name has n live entries or more.
local function has(n)
	return (redis.call('ZRANGE', KEYS[1], -n, -n, 'WITHSCORES')[2] or now) - now > 0
end

local last = redis.call('ZRANGE', KEYS[1], -maxHolders, '-1', 'WITHSCORES')
local reply, bytes, n = {}, 0, 0
for i = #last - 1, 1, -2 do
	if last[i + 1] - now <= 0 or bytes > maxBytes then
		break
	end
	local _, shown = parse(last[i])
	shown = shown or ''
	bytes, n = bytes + #shown, n + 1
	reply[n] = {shown, last[i + 1] - now}
end
-- Count the live entries by bisection, since ZCOUNT would need another right.
local all = n
if has(n + 1) then
	for power = 30, 0, -1 do
		all = has(all + 2^power) and all + 2^power or all
	end
end
local flat = {kind, f, all - n}
for i = n, 1, -1 do
	flat[#flat + 1], flat[#flat + 2] = reply[i][1], reply[i][2]
end
return flat
