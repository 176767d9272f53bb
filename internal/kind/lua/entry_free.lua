-- Acquires a lock with entries, without a fencing token, on a name that is free. Most of a script's cost is Lua itself:
-- the commands, the functions that it defines, and numbers as text. This part has few of them. Its keys and arguments
-- are those of entry_acquire, which follows. This part changes nothing, and entry_acquire does the work, if the name is
-- not free, if intents may keep a reader out, or if the fence may have an owner's token.
local function free(key)
	return redis.call('PTTL', key) == -2
end
if ARGV[4] == '' and ARGV[6] == '' and free(KEYS[1]) and (ARGV[1] ~= 'reader' or free(KEYS[3])) and
	(ARGV[1] ~= 'reentrant' or free(KEYS[2])) then
	local t = redis.call('TIME')
	local ends = string.format('%.0f', t[1] * 1000 + math.floor(t[2] / 1000) + ARGV[3])
	redis.call('ZADD', KEYS[1], ends, 'redlock:' .. ARGV[1] .. ':' .. ARGV[2])
	redis.call('PEXPIREAT', KEYS[1], ends)
	return 1
end
