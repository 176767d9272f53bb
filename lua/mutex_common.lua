-- What the scripts of a mutex share that raise fences.

-- Raises the fences at KEYS[from] to KEYS[to] to a token where they are smaller. Returns the largest that there is then. It
-- reads all of them first, so that an error changes nothing.
local function raiseAll(from, to, token, keep)
	local most, last = token, {}
	for i = from, to do
		last[i] = fence(KEYS[i])
		most = math.max(most, last[i])
	end
	for i = from, to do
		setFence(KEYS[i], math.max(last[i], token), nil, keep)
	end
	return most
end
