-- 1 == 2
if a == b and 'c == d' then
	redis.call('DEL', KEYS[1])
end
