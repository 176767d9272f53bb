-- Reports which slots of a semaphore are taken.
-- Returns {1, slots} if a slot is free, where slots has a digit for each slot: 1 if it is taken. If none is free, returns
-- {0, 'semaphore', TTL of the permit that expires first, number of slots, slots}. If another lock blocks, returns what
-- survey does.
local taken, first = survey(clock())
if not taken then
	return first
end
local slots, n = digits(taken)
if n < tonumber(ARGV[1]) then
	return {1, slots}
end
return {0, 'semaphore', first, tonumber(ARGV[1]), slots}
