package redlock

import (
	"fmt"
	"strings"
)

// channel is where the release of a name is announced.
func channel(name string) string { return "redlock:" + name }

// A lock's own key is its name, byte for byte. What stands beside it is kept in keys that a Cluster puts into the same
// slot: they carry the name's hash tag, or the whole name as theirs.
func fenceKey(name string) string  { return beside("fence", name) }
func intentKey(name string) string { return beside("intents", name) }

// beside never makes one key for two names: what follows the second colon is a brace only of a name without a tag.
func beside(what, name string) string {
	if _, ok := hashTag(name); ok {
		return "redlock:" + what + "::" + name
	}
	return "redlock:" + what + ":{" + name + "}"
}

// hashTag is the part of a key that a Cluster hashes: what stands between the first brace and the next closing one, if
// that is anything; else all of it. The source is https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/,
// "Hash tags".
func hashTag(key string) (tag string, ok bool) {
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			return tag, true
		}
	}
	return key, false
}

// slot is where a Cluster keeps a key: the CRC-16 (XMODEM) of its hash tag, modulo 16384.
func slot(key string) uint16 {
	tag, _ := hashTag(key)
	var crc uint16
	for i := range len(tag) {
		crc ^= uint16(tag[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

// oneSlot refuses keys that a Cluster would keep in several places: a script can have only one of them.
func oneSlot(cluster string, names []string) error {
	for _, name := range names {
		if slot(name) != slot(names[0]) {
			return fmt.Errorf("redlock: master %s is a Cluster, and keeps %s in slot %d but %s in slot %d: give the names one hash tag, as in %q and %q",
				cluster, quoted(names[0]), slot(names[0]), quoted(name), slot(name), "{tag}"+truncated(names[0]), "{tag}"+truncated(name))
		}
		if slot(fenceKey(name)) != slot(name) || slot(intentKey(name)) != slot(name) {
			return fmt.Errorf("redlock: master %s is a Cluster, and no key can be kept beside %s there: leave out the braces, or put one pair around a part of the name",
				cluster, quoted(name))
		}
	}
	return nil
}
