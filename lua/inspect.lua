-- Says who holds a name.
--   KEYS[1] the name
-- Returns {}: nobody. {kind, token, PTTL}: kind is 'mutex', or the type of a key that is none of ours.
local kind = redis.call('TYPE', KEYS[1])['ok']
if kind == 'none' then
	return {}
end
local left = redis.call('PTTL', KEYS[1])
if kind == 'string' then
	return {'mutex', redis.call('GET', KEYS[1]), left}
end
return {kind, '', left}
