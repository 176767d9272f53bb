-- Shared by the scripts of a mutex that raise fences.

-- Raises every fence at KEYS[from] to KEYS[to] that is below token to token. Returns the largest fence after that.
-- Reads all fences first, so that an error changes nothing.
local function raiseAll(from, to, token, keep)
	local largest, last = token, {}
	for i = from, to do
		last[i] = fence(KEYS[i])
		largest = math.max(largest, last[i])
	end
	for i = from, to do
		setFence(KEYS[i], math.max(last[i], token), nil, keep)
	end
	return largest
end
