-- Says what is in the way of a mutex on one name or several, and changes nothing.
--   KEYS  the names
-- Returns 1: nothing. {0, kind, milliseconds left, which name, token}: the holder that stays longest.
local now = clock()
local worst = 1
for i = 1, #KEYS do
	local kind, token, left = holder(KEYS[i], now)
	if kind and (worst == 1 or left < 0 or (worst[3] >= 0 and left > worst[3])) then
		worst = {0, kind, left, i, token}
	end
end
return worst
