-- How the kinds whose holds are entries are shared, as in the table of kind.go.

-- Reports whether a name can have any number of holds of the kind.
local function sharedByAll(kind)
	return kind == 'reader'
end

-- Reports whether a name can have several holds of the kind, all of one owner.
local function sharedByOwner(kind)
	return kind == 'reentrant'
end

-- Reports whether a name has slots, with one hold of the kind in each.
local function sharedBySlot(kind)
	return kind == 'semaphore'
end
