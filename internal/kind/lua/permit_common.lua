-- Shared by the scripts of a semaphore. A permit is an entry 'redlock:semaphore:<slots>:<slot>:<token>' with the number
-- of slots, the slot that it takes (from 1), and its token. A slot has at most one permit that has not expired, and all
-- these permits have the same number of slots. The scripts' first arguments are always the same:
--   KEYS[1]  the name    KEYS[2]  its fence, with fencing
--   ARGV[1]  the number of slots    ARGV[2]  the slot    ARGV[3]  the token
local slot = tonumber(ARGV[2])
local permit = 'redlock:semaphore:' .. ARGV[1] .. ':' .. ARGV[2] .. ':' .. ARGV[3]

-- Returns the permits of the name by slot, and the TTL of the one that expires first. If the name has no slots, or
-- another number of them, returns nil and the denial: {0, kind, TTL in milliseconds}, with the number of slots that the
-- name has.
local function survey(now)
	local kind, token, ttl = holder(KEYS[1], now)
	if kind == nil then
		return {}
	end
	local slots = kind == 'semaphore' and string.match(token, '^(%d+):')
	if slots ~= ARGV[1] then
		return nil, {0, kind, ttl, slots and tonumber(slots) or nil}
	end
	local taken, first = {}, ttl
	local all = redis.call('ZRANGE', KEYS[1], '0', '-1', 'WITHSCORES')
	for i = 1, #all, 2 do
		local left = all[i + 1] - now
		local own = tonumber(string.match(string.sub(all[i], 1, 64), '^redlock:semaphore:%d+:(%d+):'))
		if left > 0 and own then
			taken[own] = all[i]
			first = math.min(first, left)
		end
	end
	return taken, first
end

-- Returns a digit for each slot, 1 if it is taken, and how many are taken.
local function digits(taken)
	local text, n = {}, 0
	for i = 1, tonumber(ARGV[1]) do
		text[i] = taken[i] and '1' or '0'
		n = taken[i] and n + 1 or n
	end
	return table.concat(text), n
end
