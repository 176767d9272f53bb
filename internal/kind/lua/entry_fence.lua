-- Shared by the scripts of the kinds with entries that change fences.

-- Raises the fence to a token, if the fence is not larger. The token becomes the owner's, unless the fence is larger.
local function raise(token, keep)
	local last, owned = fence(KEYS[2])
	local f = math.max(last, token)
	if sharedByOwner(ARGV[1]) and f == token then
		owned = f
	end
	setFence(KEYS[2], f, owned, keep)
	return f
end

-- Removes the fencing token of an earlier owner from the fence, given the kind of the name's holder. The fence keeps
-- its TTL. A fence without a TTL gets that of a new fence.
local function disown(kind, keep)
	if kind == nil and sharedByOwner(ARGV[1]) then
		local last, owned = fence(KEYS[2])
		if owned then
			local ttl = redis.call('PTTL', KEYS[2])
			if ttl > 0 then
				keep = string.format('%.0f', ttl)
			end
			redis.call('SET', KEYS[2], fenceText(last), 'PX', keep)
		end
	end
end
