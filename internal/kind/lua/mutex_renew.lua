-- Extends a mutex on one name, without fencing, that has its key. (See entry_free.) Its keys and arguments are those of
-- mutex_extend, which follows. In every other case this part changes nothing and mutex_extend does the work.
if #KEYS == 1 and redis.pcall('GETRANGE', KEYS[1], '0', '4200') == ARGV[1] then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 1
end
